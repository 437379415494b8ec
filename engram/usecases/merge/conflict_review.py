"""Review conflicts of text that were decided without commits, once the commits exist.

Under a rebase, a cherry-pick or a stash the merge driver sees only files: `updated_at` decides, and the names stay empty.
Later, the commit that brought the conflict says who wrote its side and when, and the history below it says the same of
the other side. Everything follows from commits, so that all clones decide alike.
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import codec
from engram.adapters.git.read.differences import blobs
from engram.adapters.git.read.edits import edits_of
from engram.domain.errors import GitError, LoreFileError
from engram.domain.merge.merge import NEVER, Version, in_order, loss
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.merge.last_edits import last_edits

if TYPE_CHECKING:
    from datetime import datetime

    from engram.adapters.git.run.layout import Repository
    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Conflict, Lore

_UNNAMED = b'from: ""'


def may_have_unnamed_conflicts(raw: bytes) -> bool:
    """Return whether a file may contain a conflict without names."""
    return _UNNAMED in raw


class ConflictReview:
    """A review by the history of the commit `head`, whose time is `now`; `folder` is the path of the lore folder in git."""

    def __init__(
        self, repo: Repository, head: str, now: datetime, folder: str, categories: Categories
    ) -> None:
        self._repo, self._head, self._now = repo, head, now
        self._folder, self._categories = folder, categories

    def decide(self, path: str, raw: bytes) -> bytes | None:
        """Return the file (at `path` in `head`) with names and times added to its conflicts of text that lack them.

        If the other text is the later one, the two are swapped. None if nothing changes, or the history does not tell.
        """
        try:
            file = codec.read(raw, path, self._categories, NEVER)
            lore = file.lore
            for conflict in lore.conflicts:
                if conflict.field == "content" and not (conflict.source or conflict.kept_source):
                    lore = self._decide_again(path, lore, conflict)
            return codec.rewrite(file, lore, self._categories) if lore != file.lore else None
        except (GitError, LoreFileError):
            return None

    def _decide_again(self, path: str, lore: Lore, conflict: Conflict) -> Lore:
        """Return the entry with one conflict decided again, if the commit that brought it has a single parent with the file."""
        for commit in edits_of(self._repo, self._head, [], [path])[path]:
            after, before = (
                self._version(path, commit.after),
                [self._version(path, oid) for oid in commit.before],
            )
            if not _has(after, conflict):
                break  # the file was at another path
            if not any(_has(version, conflict) for version in before):
                if len(before) == 1 and after is not None and before[0] is not None:
                    return self._rank(commit.oid, path, lore, (before[0].content, after.content), conflict)
                break
        return lore

    def _rank(self, commit: str, path: str, lore: Lore, texts: tuple[str, str], conflict: Conflict) -> Lore:
        """Return the entry with the later of two texts as its content: that of a commit, or that below it.

        `texts` are those of the file before and after the commit.
        """
        below, kept = texts
        is_kept_from_below = _comes_from(below, kept, conflict.value)
        own, other = (
            last_edits(self._repo, tip, known, [path], self._folder, self._categories)[path]
            for tip, known in ((commit, [f"{commit}^"]), (f"{commit}^", []))
        )
        if is_kept_from_below is None or own.at is None or other.at is None:
            return lore
        standing, lost = (
            Version(text, NEVER, digest=text.encode("utf-8", "surrogatepass"), edit=edit)
            for text, edit in zip(
                (kept, conflict.value), (other, own) if is_kept_from_below else (own, other), strict=True
            )
        )
        winner, loser = in_order(standing, lost, self._now)
        if lore.content != kept:  # it was edited since, and that edit is kept
            winner, loser = standing, lost
        new = loss("content", loser.record, loser.written, winner.edit)
        conflicts = tuple([new if known == conflict else known for known in lore.conflicts])
        content = lore.content if winner is standing else str(winner.record)
        return lore._replace(content=content, conflicts=conflicts)

    def _version(self, path: str, oid: str | None) -> Lore | None:
        if oid is None:
            return None
        return codec.read(blobs(self._repo, [oid])[oid], path, self._categories, NEVER).lore


def _has(lore: Lore | None, conflict: Conflict) -> bool:
    known = lore.conflicts if lore is not None else ()
    return any((other.field, other.value) == (conflict.field, conflict.value) for other in known)


def _comes_from(text: str, one: str, other: str) -> bool | None:
    """Return whether `text` has all lines that only `one` has, but not all that only `other` has; None if unclear."""
    lines, ours, theirs = (set(version.split("\n")) for version in (text, one, other))
    has_ours, has_theirs = ours - theirs <= lines, theirs - ours <= lines
    return has_ours if has_ours != has_theirs else None
