"""Merging two trees of lore: moves on both sides, folds, and an entry that was added on both sides."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from codec_strategies import CATEGORIES
from merge_kit import read
from store_history import START, Commit, Repository, new_lore

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.confidence import Vote
from engram.domain.judgements.ledger import LegacyAccount
from engram.domain.similarity.deduplicate import fold

if TYPE_CHECKING:
    from engram.adapters.git.read.objects import Entry

MOMENT = int(START.timestamp())


@pytest.fixture
def repository() -> Repository:
    return Repository()


def both_ways(repository: Repository, base: dict[str, Entry], *sides: dict[str, Entry]) -> dict[str, Entry]:
    """The merge of two sides, whichever of them has the smaller commit id."""
    results = []
    for names in permutations(("1" * 40, "2" * 40)):
        before = repository.commit((), MOMENT, base)
        for name, side in zip(names, sides, strict=True):
            repository.commits[name] = Commit((before,), MOMENT, side)
        results.append(repository.merged(*names, START, base=before))
    assert results[0] == results[1]
    return results[0]


def test_an_entry_moved_by_both_and_changed_by_nobody_has_one_path(repository: Repository) -> None:
    path, raw = new_lore(1, START, "Lesson.")
    entry = repository.entry(raw)
    merged = both_ways(repository, {path: entry}, {"lore/b.md": entry}, {"lore/a.md": entry})
    assert merged == {"lore/a.md": entry}


def test_the_same_entry_added_at_two_paths_is_one(repository: Repository) -> None:
    """One clone has it by a squash merge, the other moved it."""
    path, raw = new_lore(1, START, "Lesson.")
    entry = repository.entry(raw)
    merged = both_ways(repository, {}, {path: entry}, {"lore/moved.md": entry})
    assert merged == {"lore/moved.md": entry}


def test_an_entry_moved_by_one_side_and_deleted_by_the_other_stays(repository: Repository) -> None:
    path, raw = new_lore(1, START, "Lesson.")
    entry = repository.entry(raw)
    assert both_ways(repository, {path: entry}, {"lore/moved.md": entry}, {}) == {"lore/moved.md": entry}


def test_two_entries_that_change_places_both_stay(repository: Repository) -> None:
    one, other = (repository.entry(new_lore(number, START, f"Lesson {number}.")[1]) for number in (1, 2))
    merged = both_ways(
        repository,
        {"lore/a.md": one, "lore/b.md": other},
        {"lore/a.md": other, "lore/b.md": one},
        {"lore/c.md": one, "lore/b.md": other},
    )
    assert {one, other} <= set(merged.values())


class Lessons:
    """Entries of a base, and what sides make of them."""

    def __init__(self, repository: Repository, count: int) -> None:
        made = [new_lore(number, START, f"Lesson {number}.") for number in range(1, count + 1)]
        self._repository = repository
        self.paths = [path for path, _ in made]
        self.ids = [read(raw).lore.id for _, raw in made]
        self.base = {path: repository.entry(raw) for path, raw in made}

    def folded(self, side: dict[str, Entry], host: int, lost: int) -> dict[str, Entry]:
        """A side after one more fold."""
        one, other = (self.file(side, number) for number in (host, lost))
        after = fold(one.lore, other.lore)
        assert after is not None
        rest = {path: entry for path, entry in side.items() if path != self.paths[lost]}
        return rest | {self.paths[host]: self._repository.entry(codec.rewrite(one, after, CATEGORIES))}

    def changed(self, side: dict[str, Entry], number: int, **fields: object) -> dict[str, Entry]:
        """A side after a change of one entry."""
        file = self.file(side, number)
        raw = codec.rewrite(file, file.lore._replace(**fields), CATEGORIES)
        return side | {self.paths[number]: self._repository.entry(raw)}

    def file(self, side: dict[str, Entry], number: int) -> codec.LoreFile:
        return read(self._repository.blobs[side[self.paths[number]].oid])


def test_a_folded_entry_takes_along_entries_folded_into_it(repository: Repository) -> None:
    lore = Lessons(repository, 4)
    one = lore.folded(lore.base, 1, 2)
    other = lore.folded(lore.folded(lore.base, 0, 1), 3, 0)
    merged = both_ways(repository, lore.base, one, other)
    assert set(merged) == {lore.paths[3]}
    kept = lore.file(merged, 3).lore
    assert {*kept.merged_from} == {*lore.ids[:3]}
    assert kept.conflicts == ()


def test_a_folded_entry_archived_meanwhile_is_deleted_and_its_account_moved_to_the_ledger(
    repository: Repository,
) -> None:
    lore = Lessons(repository, 2)
    votes = {"6R2H5F8K": Vote(80, 0, 1)}
    merged = both_ways(
        repository,
        lore.base,
        lore.folded(lore.base, 0, 1),
        lore.changed(lore.base, 1, status="archived", votes=votes),
    )
    assert set(merged) == {lore.paths[0]}
    kept = lore.file(merged, 0).lore
    assert (kept.status, kept.votes) == ("active", {})
    assert repository.accounts == (LegacyAccount(lore.ids[1], "6R2H5F8K", Vote(80, 0, 1)),)


def test_entries_folded_into_each_other_both_stay_for_a_person(repository: Repository) -> None:
    lore = Lessons(repository, 2)
    merged = both_ways(repository, lore.base, lore.folded(lore.base, 0, 1), lore.folded(lore.base, 1, 0))
    held = [lore.file(merged, number).lore.conflicts for number in (0, 1)]
    assert [[entry.field for entry in conflicts] for conflicts in held] == [["deleted"], ["deleted"]]


def test_other_changes_of_a_folded_entry_are_left_for_a_person(repository: Repository) -> None:
    lore = Lessons(repository, 3)
    theirs = lore.changed(lore.folded(lore.base, 1, 2), 1, content="In other words.")
    merged = both_ways(repository, lore.base, lore.folded(lore.base, 0, 1), theirs)
    assert [entry.field for entry in lore.file(merged, 1).lore.conflicts] == ["deleted"]
    assert lore.file(merged, 0).lore.merged_from == (lore.ids[1],)
