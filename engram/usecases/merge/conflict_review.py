"""Look again at conflicts of words that were decided without commits, once the commits are there.

Under a rebase, a cherry-pick or a stash the merge driver sees files alone: `updated_at` decides, and the names stay empty.
The commit that brought such a conflict along says who wrote its own side and when, and what is below it says the same of
the other. Everything here follows from commits, so that every clone decides alike.
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


def may_be_decided(raw: bytes) -> bool:
    """Return whether a file may hold a conflict without names."""
    return _UNNAMED in raw


class SecondLook:
    """A look at the history of the commit `head`, whose time is `now`; `folder` is the lore folder as git spells it."""

    def __init__(
        self, repo: Repository, head: str, now: datetime, folder: str, categories: Categories
    ) -> None:
        self._repo, self._head, self._now = repo, head, now
        self._folder, self._categories = folder, categories

    def decide(self, path: str, raw: bytes) -> bytes | None:
        """Return the file (at `path` in `head`) with names and times of the conflicts of words that have none.

        And with the other words standing where these are later; None where there is nothing to decide or git does not say.
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
        """Return the entry with one conflict decided again, if the commit that brought it had one parent with the file."""
        for commit in edits_of(self._repo, self._head, [], [path])[path]:
            after, before = (
                self._version(path, commit.after),
                [self._version(path, one) for one in commit.before],
            )
            if not _has(after, conflict):
                break  # its file was at another path
            if not any(_has(one, conflict) for one in before):
                if len(before) == 1 and after is not None and before[0] is not None:
                    return self._rank(commit.oid, path, lore, (before[0].content, after.content), conflict)
                break
        return lore

    def _rank(self, commit: str, path: str, lore: Lore, texts: tuple[str, str], conflict: Conflict) -> Lore:
        """Return the entry with the later of two versions standing: that of a commit, and that below it.

        `texts` are those of the file before and after the commit.
        """
        below, kept = texts
        kept_is_below = _is_of(below, kept, conflict.value)
        own, other = (
            last_edits(self._repo, tip, known, [path], self._folder, self._categories)[path]
            for tip, known in ((commit, [f"{commit}^"]), (f"{commit}^", []))
        )
        if kept_is_below is None or own.at is None or other.at is None:
            return lore
        standing, lost = (
            Version(text, NEVER, digest=text.encode("utf-8", "surrogatepass"), edit=edit)
            for text, edit in zip(
                (kept, conflict.value), (other, own) if kept_is_below else (own, other), strict=True
            )
        )
        winner, loser = in_order(standing, lost, self._now)
        if lore.content != kept:  # somebody wrote on: that stands
            winner, loser = standing, lost
        new = loss("content", loser.record, loser.written, winner.edit)
        conflicts = tuple([new if one == conflict else one for one in lore.conflicts])
        content = lore.content if winner is standing else str(winner.record)
        return lore._replace(content=content, conflicts=conflicts)

    def _version(self, path: str, oid: str | None) -> Lore | None:
        if oid is None:
            return None
        return codec.read(blobs(self._repo, [oid])[oid], path, self._categories, NEVER).lore


def _has(lore: Lore | None, conflict: Conflict) -> bool:
    known = lore.conflicts if lore is not None else ()
    return any((one.field, one.value) == (conflict.field, conflict.value) for one in known)


def _is_of(text: str, one: str, other: str) -> bool | None:
    """Return whether a version of a text has what `one` has and `other` lacks, and not the other way round; None: neither."""
    lines, mine, yours = (set(found.split("\n")) for found in (text, one, other))
    has_mine, has_yours = mine - yours <= lines, yours - mine <= lines
    return has_mine if has_mine != has_yours else None
