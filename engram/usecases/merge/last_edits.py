"""Find out from commits who wrote the two versions of a file that are merged, and when.

The commit that last changed the text decides whose text is kept, not a wrong clock or a later change of a tag.
Everything follows from commits, so that all clones that have them get the same result.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files.frontmatter import codec
from engram.adapters.git.read.differences import blobs
from engram.adapters.git.read.edits import edits_of, edits_through_moves
from engram.adapters.git.write.merge_commit import bases
from engram.domain.entry.named_files import is_named
from engram.domain.errors import GitError, LoreFileError
from engram.domain.merge.merge import NEVER, UNKNOWN, Edit
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.read.edits import EditCommit
    from engram.adapters.git.run.layout import Repository
    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Lore

_MAX_TIME = 253_402_300_799  # Unix seconds: the end of the year 9999


def last_edits(
    repo: Repository,
    tip: str,
    known: Sequence[str],
    paths: Sequence[str],
    folder: str,
    categories: Categories,
) -> dict[str, Edit]:
    """Return by path (in git) who last changed the text of the file in the commits of `tip` that are not in `known`.

    `folder` is the path of the lore folder in git. UNKNOWN at the end of a shallow clone's history, and for a file that
    these commits do not change. Raises GitError.
    """
    found = edits_of(repo, tip, known, paths)
    edits: dict[str, Edit] = {}
    for path, commits in found.items():
        finder = _Finder(repo, path, folder, categories)
        changed = finder.last_change(commits)
        if known and changed is not None and changed.before == (None,):
            # The entry was moved, so its text may be older than its path.
            changed = finder.last_change(edits_through_moves(repo, tip, known, path)) or changed
        edits[path] = UNKNOWN if changed is None else finder.edit(changed)
    return edits


class _Finder:
    """Finds the last edit of one file."""

    def __init__(self, repo: Repository, path: str, folder: str, categories: Categories) -> None:
        self._repo, self._path, self._categories = repo, path, categories
        self._by_bytes = is_named(path, folder)  # an entity or agent, which has no text of an entry
        self._contents: dict[str, bytes] = {}

    def last_change(self, commits: Sequence[EditCommit]) -> EditCommit | None:
        """Return the last commit that changed the text; if none did, the last that changed anything."""
        oids = {oid for commit in commits for oid in (*commit.before, commit.after) if oid}
        self._contents = dict(blobs(self._repo, sorted(oids)))
        edits = [commit for commit in commits if not commit.is_engrams_merge]
        return next(filter(self._changes_text, edits), edits[0] if edits else None)

    def edit(self, commit: EditCommit) -> Edit:
        """Return who made a change and when: the entry's `updated_at` if the commit set it, else the author's time."""
        if commit.is_boundary:
            return UNKNOWN
        after = self._lore(commit.after)
        at = datetime.fromtimestamp(min(max(commit.moment, 0), _MAX_TIME), UTC)
        if after is not None and after.updated_at != NEVER:
            before = [found for oid in commit.before if (found := self._lore(oid)) is not None]
            if all(found.updated_at != after.updated_at for found in before):
                at = after.updated_at
        return Edit(commit.author, at)

    def _changes_text(self, commit: EditCommit) -> bool:
        if commit.is_boundary:
            return True
        after = self._text(commit.after)
        before = [self._text(oid) for oid in commit.before]
        if commit.is_merge:  # only lines that are in no parent were written in the merge
            lines = {line for text in before if text is not None for line in text.splitlines()}
            return after is not None and any(line not in lines for line in after.splitlines())
        return any(text != after for text in before)

    def _text(self, oid: str | None) -> str | None:
        if oid is None:
            return None
        lore = None if self._by_bytes else self._lore(oid)
        return self._contents.get(oid, b"").decode("utf-8", "replace") if lore is None else lore.content

    def _lore(self, oid: str | None) -> Lore | None:
        if oid is None or self._by_bytes:
            return None
        try:
            return codec.read(self._contents.get(oid, b""), self._path, self._categories, NEVER).lore
        except LoreFileError:
            return None


def edits_of_merge(
    repo: Repository, heads: tuple[str, str], path: str, folder: str, categories: Categories
) -> tuple[Edit, Edit]:
    """Return who wrote the two versions of a file (path in git) in a merge of two commits; UNKNOWN if git fails."""
    try:
        known = bases(repo, *heads)
        one, other = (last_edits(repo, tip, known, [path], folder, categories)[path] for tip in heads)
    except GitError:
        return UNKNOWN, UNKNOWN
    return one, other
