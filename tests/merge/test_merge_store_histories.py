"""Random histories of three clones and a remote, in memory: in the end the same files, each vote once, nothing lost.

Everything that git can do to a store is in them: renames, deletions, squash merges, cherry-picks, criss-cross merges,
work on another branch, clocks a day ahead and a day behind, and lore folded into others.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest
from effort import examples
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from store_history import SKEWS, START, Clone, Repository, id_of, new_lore, parsed

from engram.domain.entry.confidence import HELPFUL, INCORRECT, Vote

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

PARTS = 4  # so that several processes share the work
AHEAD = timedelta(days=1)
Operation = tuple[str, int, int, int]

KINDS = (
    *("record", "helpful", "helpful", "incorrect", "paragraph", "paragraph", "sentence", "tag", "untag"),
    *("agent", "context", "rename", "delete", "fold", "resolve"),
    *("sync", "sync", "sync", "pull", "cross", "squash", "cherry-pick", "switch", "merge-topic"),
)
small = st.integers(0, 5)
# Without a least length most lists would have five operations.
histories = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 2), small, small), min_size=12, max_size=40
)


class History:
    """Random events in three clones, and the invariants checked at the end."""

    def __init__(self) -> None:
        self.repository = Repository()
        self.moment = START
        self.numbers = count(1)
        self.lore: list[str] = []
        self.deleted: set[str] = set()
        self.folded: list[tuple[str, str]] = []
        self.words: list[tuple[str, str]] = []
        first = self.repository.commit((), int(START.timestamp()), {})
        self.hub = first
        self.clones = [Clone(self.repository, number, first, SKEWS[number]) for number in range(3)]
        for _ in range(2):
            self.record(self.clones[0], 0, 0)
        for clone in self.clones:
            self.sync(clone, 0, 0)

    def run(self, operations: list[Operation]) -> None:
        """Run all events, then sync all clones."""
        for kind, clone, which, what in operations:
            self.moment += timedelta(seconds=7)
            method = kind.replace("-", "_")
            getattr(self, method)(self.clones[clone], which, what)
        self.settle()

    def settle(self) -> None:
        for clone in self.clones:
            clone.branch = "main"
            if "topic" in clone.branches:
                clone.take(self.repository.merge(clone.head, clone.branches["topic"], self.clock(clone)))
        for _ in range(2):
            for clone in self.clones:
                self.sync(clone, 0, 0)

    def clock(self, clone: Clone) -> datetime:
        return self.moment + clone.skew

    def chosen(self, clone: Clone, which: int) -> tuple[str, str] | None:
        """An entry that the clone has, and its path."""
        lore = self.lore[which % len(self.lore)]
        path = clone.path(lore)
        return (lore, path) if path else None

    # What people and agents do to lore.

    def record(self, clone: Clone, _which: int, _what: int) -> None:
        number = next(self.numbers)
        text = f"Lesson {number}.\n\nFirst of {number}.\n\nSecond of {number}.\n\nThird of {number}."
        path, raw = new_lore(number, self.clock(clone), text)
        self.lore.append(id_of(raw))
        clone.commit(self.moment, {path: raw})

    def helpful(self, clone: Clone, which: int, _what: int) -> None:
        found = self.chosen(clone, which)
        if found:
            clone.vote(self.moment, found[1], HELPFUL)

    def incorrect(self, clone: Clone, which: int, _what: int) -> None:
        found = self.chosen(clone, which)
        if found:
            clone.vote(self.moment, found[1], INCORRECT)

    def _change(self, clone: Clone, which: int, **fields: object) -> None:
        found = self.chosen(clone, which)
        if found:
            clone.edit(self.moment, found[1], lambda lore: lore._replace(**fields))

    def tag(self, clone: Clone, which: int, what: int) -> None:
        found = self.chosen(clone, which)
        if found:
            word = f"t{what}"
            clone.edit(
                self.moment,
                found[1],
                lambda lore: lore if word in lore.tags else lore._replace(tags=(*lore.tags, word)),
            )

    def untag(self, clone: Clone, which: int, _what: int) -> None:
        found = self.chosen(clone, which)
        if found:
            clone.edit(self.moment, found[1], lambda lore: lore._replace(tags=lore.tags[1:]))

    def context(self, clone: Clone, which: int, _what: int) -> None:
        self._change(clone, which, context=(f"seen {next(self.numbers)}",))

    def agent(self, clone: Clone, which: int, what: int) -> None:
        self._change(clone, which, agent=f"agent{what}")

    def resolve(self, clone: Clone, which: int, _what: int) -> None:
        """A person deals with what merges left."""
        found = self.chosen(clone, which)
        if not found:
            return
        entries = parsed(self.repository.raw(clone.head, found[1])).lore.conflicts
        seen = [entry.value for entry in entries]
        self.words = [
            (lore, word)
            for lore, word in self.words
            if lore != found[0] or not any(word in value for value in seen)
        ]
        self._change(clone, which, conflicts=())

    def paragraph(self, clone: Clone, which: int, what: int) -> None:
        """A person adds a word to a paragraph, in an editor: no time is written."""
        self._write(clone, which, 1 + what % 3)

    def sentence(self, clone: Clone, which: int, _what: int) -> None:
        """Engram rewrites the one first sentence that everybody rewrites."""
        found = self.chosen(clone, which)
        if not found:
            return
        word = f"word{next(self.numbers)}w"

        def edit(lore: Lore) -> Lore:
            head, gap, rest = lore.content.partition("\n\n")
            return lore._replace(content=f"{head} {word}{gap}{rest}")

        clone.edit(self.moment, found[1], edit)
        self.words.append((found[0], word))

    def _write(self, clone: Clone, which: int, paragraph: int) -> None:
        found = self.chosen(clone, which)
        if not found:
            return
        word = f"word{next(self.numbers)}w"
        head, mark, body = self.repository.raw(clone.head, found[1]).decode().rpartition("---\n\n")
        paragraphs = body.rstrip("\n").split("\n\n")
        paragraphs[min(paragraph, len(paragraphs) - 1)] += f" {word}"
        text = head + mark + "\n\n".join(paragraphs) + "\n"
        clone.commit(self.moment, {found[1]: text.encode()})
        self.words.append((found[0], word))

    def rename(self, clone: Clone, which: int, what: int) -> None:
        found = self.chosen(clone, which)
        if found:
            raw = self.repository.raw(clone.head, found[1])
            target = f"lore/moved{what}/{which}-{found[0]}.md"
            if target != found[1]:
                clone.commit(self.moment, {found[1]: None, target: raw})

    def delete(self, clone: Clone, which: int, _what: int) -> None:
        found = self.chosen(clone, which)
        if found:
            clone.commit(self.moment, {found[1]: None})
            self.deleted.add(found[0])

    def fold(self, clone: Clone, which: int, what: int) -> None:
        """Fold an entry into an older one; its own file is deleted."""
        one, other = self.chosen(clone, which), self.chosen(clone, what)
        if not one or not other or one[0] == other[0]:
            return
        (stays, at), (goes, gone) = sorted((one, other))
        clone.edit(
            self.moment,
            at,
            lambda lore: lore._replace(merged_from=tuple(sorted({*lore.merged_from, goes}))),
        )
        clone.commit(self.moment, {gone: None})
        self.deleted.add(goes)
        self.folded.append((stays, goes))

    # What git and Engram do to commits.

    def pull(self, clone: Clone, _which: int, _what: int) -> None:
        """A sync that is killed, or loses its network, before it pushes."""
        clone.take(self.repository.merge(clone.head, self.hub, self.clock(clone)))

    def sync(self, clone: Clone, which: int, what: int) -> None:
        if clone.branch == "main":
            self.pull(clone, which, what)
            self.hub = clone.head

    def cross(self, clone: Clone, which: int, _what: int) -> None:
        """Two clones pull from one another at the same moment."""
        other = self.clones[which % 3]
        mine, theirs = clone.head, other.head
        clone.take(self.repository.merge(mine, theirs, self.clock(clone)))
        other.take(self.repository.merge(theirs, mine, self.clock(other)))

    def squash(self, clone: Clone, _which: int, _what: int) -> None:
        """`git merge --squash` of the remote's branch: its changes, but not its commits."""
        if not self.repository.has(clone.head, self.hub):
            files = self.repository.merged(clone.head, self.hub, self.clock(clone))
            clone.take(self._commit(clone, files))

    def cherry_pick(self, clone: Clone, which: int, _what: int) -> None:
        """The last commit of another clone, once more."""
        picked = self.clones[which % 3].head
        parents = self.repository.commits[picked].parents
        if len(parents) == 1 and not self.repository.has(clone.head, picked):
            files = self.repository.merged(clone.head, picked, self.clock(clone), base=parents[0])
            clone.take(self._commit(clone, files))

    def switch(self, clone: Clone, _which: int, _what: int) -> None:
        """To another branch, made where it begins, or back."""
        there = "topic" if clone.branch == "main" else "main"
        clone.branches.setdefault(there, clone.head)
        clone.branch = there

    def merge_topic(self, clone: Clone, _which: int, _what: int) -> None:
        if clone.branch == "main" and "topic" in clone.branches:
            clone.take(self.repository.merge(clone.head, clone.branches["topic"], self.clock(clone)))

    def _commit(self, clone: Clone, files: dict) -> str:
        return self.repository.commit((clone.head,), int(self.clock(clone).timestamp()), files)

    # What has to be true in the end.

    def check(self) -> None:
        assert len({clone.head for clone in self.clones}) == 1
        raw = {path: self.repository.blobs[entry.oid] for path, entry in self.clones[0].files().items()}
        held = {path: parsed(content).lore for path, content in raw.items()}
        assert not any(b"<<<<<<<" in content or b">>>>>>>" in content for content in raw.values())
        assert sorted({lore.id for lore in held.values()}) == sorted(lore.id for lore in held.values())
        found = {lore.id: lore for lore in held.values()}
        assert set(self.lore) - self.deleted <= set(found) <= set(self.lore)
        for lore_id in set(found) - self.deleted:
            given = {c.name: c.votes[lore_id] for c in self.clones if c.votes.get(lore_id, Vote()) != Vote()}
            assert {name: vote for name, vote in found[lore_id].votes.items() if vote != Vote()} == given
        for stays, goes in self.folded:
            assert stays in self.deleted or goes in found[stays].merged_from
        for lore_id, word in self.words:
            if lore_id in found and lore_id not in self.deleted:
                lore = found[lore_id]
                assert any(word in text for text in (lore.content, *[e.value for e in lore.conflicts])), word


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_happened_everyone_has_the_same_store_with_all_that_was_learnt(part: int) -> None:
    @seed(part)
    @settings(
        max_examples=examples(15, 2500),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(histories)
    def check(operations: list[Operation]) -> None:
        history = History()
        history.run(operations)
        history.check()

    check()
