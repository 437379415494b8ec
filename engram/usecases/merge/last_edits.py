"""Who wrote the two versions of a file that are merged, and when, as the commits of each side say.

A clock that is wrong on one clone, or a later change of a tag, must not decide whose words stand: the commit does that
last changed the words. Everything here follows from commits, so that every clone that has them finds the same.
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

_LAST = 253_402_300_799  # unix seconds: the end of the year 9999


def last_edits(
    repo: Repository,
    tip: str,
    known: Sequence[str],
    paths: Sequence[str],
    folder: str,
    categories: Categories,
) -> dict[str, Edit]:
    """Return by path (in git) who last changed the words of the file in the commits of `tip` that `known` lack.

    `folder` is the lore folder as git spells it. UNKNOWN at the end of a shallow clone's history, and for a file that
    these commits leave alone. Raises GitError.
    """
    found = edits_of(repo, tip, known, paths)
    edits: dict[str, Edit] = {}
    for path, commits in found.items():
        finder = _Finder(repo, path, folder, categories)
        changed = finder.last_change(commits)
        if known and changed is not None and changed.before == (None,):
            # An entry that was moved: its words may be older than its path.
            changed = finder.last_change(edits_through_moves(repo, tip, known, path)) or changed
        edits[path] = UNKNOWN if changed is None else finder.edit(changed)
    return edits


class _Finder:
    """The versions of one file."""

    def __init__(self, repo: Repository, path: str, folder: str, categories: Categories) -> None:
        self._repo, self._path, self._categories = repo, path, categories
        self._by_bytes = is_named(path, folder)  # an entity or an agent, which has no words of an entry
        self._contents: dict[str, bytes] = {}

    def last_change(self, commits: Sequence[EditCommit]) -> EditCommit | None:
        """Return the last commit that changed the words; where none did, the last that changed anything."""
        wanted = {oid for one in commits for oid in (*one.before, one.after) if oid}
        self._contents = dict(blobs(self._repo, sorted(wanted)))
        own = [one for one in commits if not one.is_engrams_merge]
        return next((one for one in own if self._changes_words(one)), own[0] if own else None)

    def edit(self, commit: EditCommit) -> Edit:
        """Return who made a change and when: its `updated_at` if the commit set that, else the author's time."""
        if commit.is_boundary:
            return UNKNOWN
        after = self._lore(commit.after)
        at = datetime.fromtimestamp(min(max(commit.moment, 0), _LAST), UTC)
        if after is not None and after.updated_at != NEVER:
            before = [found for oid in commit.before if (found := self._lore(oid)) is not None]
            if all(found.updated_at != after.updated_at for found in before):
                at = after.updated_at
        return Edit(commit.author, at)

    def _changes_words(self, commit: EditCommit) -> bool:
        if commit.is_boundary:
            return True
        after = self._words(commit.after)
        before = [self._words(oid) for oid in commit.before]
        if commit.is_merge:  # what a machine put together of its parents was written before
            lines = {line for words in before if words is not None for line in words.splitlines()}
            return after is not None and any(line not in lines for line in after.splitlines())
        return any(words != after for words in before)

    def _words(self, oid: str | None) -> str | None:
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
    """Return who wrote the two versions of one file (path in git) in a merge of two commits; UNKNOWN where git fails."""
    try:
        known = bases(repo, *heads)
        one, other = (last_edits(repo, tip, known, [path], folder, categories)[path] for tip in heads)
    except GitError:
        return UNKNOWN, UNKNOWN
    return one, other
