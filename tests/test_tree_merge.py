"""Two trees of lore become one: moves on both sides, and one lore that came along two ways."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from store_history import START, Commit, Repository, new_lore

if TYPE_CHECKING:
    from engram.adapters.git.tree import Entry

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


def test_moved_by_both_and_changed_by_nobody(repository: Repository) -> None:
    path, raw = new_lore(1, START, "Lesson.")
    entry = repository.entry(raw)
    merged = both_ways(repository, {path: entry}, {"lore/b.md": entry}, {"lore/a.md": entry})
    assert merged == {"lore/a.md": entry}


def test_the_same_lore_added_at_two_paths_is_one(repository: Repository) -> None:
    """One clone has it by a squash merge, the other moved it."""
    path, raw = new_lore(1, START, "Lesson.")
    entry = repository.entry(raw)
    merged = both_ways(repository, {}, {path: entry}, {"lore/moved.md": entry})
    assert merged == {"lore/moved.md": entry}


def test_moved_to_one_place_and_deleted_by_the_other_stays_there(repository: Repository) -> None:
    path, raw = new_lore(1, START, "Lesson.")
    entry = repository.entry(raw)
    assert both_ways(repository, {path: entry}, {"lore/moved.md": entry}, {}) == {"lore/moved.md": entry}


def test_two_lore_that_change_places_both_stay(repository: Repository) -> None:
    one, other = (repository.entry(new_lore(number, START, f"Lesson {number}.")[1]) for number in (1, 2))
    merged = both_ways(
        repository,
        {"lore/a.md": one, "lore/b.md": other},
        {"lore/a.md": other, "lore/b.md": one},
        {"lore/c.md": one, "lore/b.md": other},
    )
    assert {one, other} <= set(merged.values())
