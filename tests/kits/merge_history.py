"""Clones in memory that change a lore file and pull from one another, with a commit graph like git's."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import combinations
from typing import TYPE_CHECKING

from merge_kit import CATEGORIES, NOW, PATH, judge, read

from engram.adapters.files.frontmatter import codec
from engram.adapters.files.merge.merge_file import merge_files
from engram.domain.entry import times
from engram.domain.entry.confidence import HELPFUL, INCORRECT, Vote

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.adapters.files.merge.merge_readable import Merged
    from engram.domain.entry.lore import Lore

CLONES = ("AAAAAAAA", "BBBBBBBB", "CCCCCCCC")
START = datetime(2026, 11, 21, 9, 30, tzinfo=NOW.tzinfo)


class Graph:
    """Commits: parents and the bytes of the file. The id of a merge commit depends on its parents and content only."""

    def __init__(self, raw: bytes) -> None:
        self.parents: dict[str, frozenset[str]] = {}
        self.content: dict[str, bytes] = {}
        self.merges: list[Merged] = []
        self.root = self.commit((), raw)

    def commit(self, parents: tuple[str, ...], raw: bytes) -> str:
        name = blake2b(repr((sorted(parents), raw)).encode(), digest_size=8).hexdigest()
        self.parents[name], self.content[name] = frozenset(parents), raw
        return name

    def ancestors(self, commit: str) -> set[str]:
        """Return the commit and all its ancestors."""
        seen: set[str] = set()
        waiting = [commit]
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                waiting += self.parents[at]
        return seen

    def base(self, one: str, other: str) -> bytes:
        """Return the merge base; several ones are merged first, as in git."""
        shared = self.ancestors(one) & self.ancestors(other)
        best = sorted(name for name in shared if not any(name in self.ancestors(at) - {at} for at in shared))
        found, merged = self.content[best[0]], best[0]
        for name in best[1:]:
            content = self.merged(self.base(merged, name), found, self.content[name])
            parents = (merged, name)
            found, merged = content, self.commit(parents, content)
        return found

    def merged(self, base: bytes, ours: bytes, theirs: bytes) -> bytes:
        done = merge_files(base, ours, theirs, PATH, CATEGORIES, NOW)
        self.merges.append(done)
        assert done.content is not None
        assert not done.kept
        return done.content

    def pull(self, mine: str, other: str) -> str:
        """Return the head after pulling the other: its head, mine, or a merge of both."""
        if mine in self.ancestors(other):
            return other
        if other in self.ancestors(mine):
            return mine
        content = self.merged(self.base(mine, other), self.content[mine], self.content[other])
        return self.commit((mine, other), content)


class Clones:
    """Three clones of one repository, each with its own head and its own clock."""

    def __init__(self, raw: bytes) -> None:
        self.graph = Graph(raw)
        self.heads = [self.graph.root] * len(CLONES)
        self.given = [Vote()] * len(CLONES)
        self.clock = START

    def raw(self, clone: int) -> bytes:
        return self.graph.content[self.heads[clone]]

    def change(self, clone: int, edit: Callable[[Lore, int], Lore]) -> None:
        """Commit a change by a clone."""
        file = read(self.raw(clone))
        after = edit(file.lore, clone)
        if after == file.lore:
            return
        self.clock += timedelta(seconds=1)
        after = after._replace(updated_at=times.after(self.clock, file.lore.updated_at))
        raw = codec.rewrite(file, after, CATEGORIES)
        self.heads[clone] = self.graph.commit((self.heads[clone],), raw)
        self.given[clone] = after.votes.get(CLONES[clone], Vote())

    def change_raw(self, clone: int, edit: Callable[[bytes, int], bytes]) -> None:
        """Commit an edit of the file's text by a user."""
        raw = edit(self.raw(clone), clone)
        if raw != self.raw(clone):
            self.heads[clone] = self.graph.commit((self.heads[clone],), raw)

    def pull(self, clone: int, other: int) -> None:
        self.heads[clone] = self.graph.pull(self.heads[clone], self.heads[other])

    def cross(self, one: int, other: int) -> None:
        """Let two clones pull from each other at the same time."""
        mine, theirs = self.heads[one], self.heads[other]
        self.heads[one], self.heads[other] = self.graph.pull(mine, theirs), self.graph.pull(theirs, mine)

    def settle(self) -> None:
        """Let all clones pull from each other until nothing changes."""
        for _ in range(4):
            for one, other in combinations(range(len(CLONES)), 2):
                self.cross(one, other)

    def folded(self, order: tuple[int, ...]) -> str:
        """Return the head of a clone that pulls all others in this order."""
        head = self.heads[order[0]]
        for clone in order[1:]:
            head = self.graph.pull(head, self.heads[clone])
        return head


def vote(kind: str) -> Callable[[Lore, int], Lore]:
    def edit(lore: Lore, clone: int) -> Lore:
        name = CLONES[clone]
        judged = judge(lore.votes.get(name, Vote()), lore.thousandths, kind)
        return lore._replace(votes={**lore.votes, name: judged}, last_validated=lore.updated_at)

    return edit


helpful, incorrect = vote(HELPFUL), vote(INCORRECT)
