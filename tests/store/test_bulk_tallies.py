"""A rebuilt index has the tallies of every entry, from cached sums or computed again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock, dedicated, open_test_store

from engram.usecases.explore.sql_query import execute
from engram.usecases.index.refresh import refresh
from engram.usecases.recording.edit import Edit
from engram.usecases.store import bulk_tallies, judgements

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

WORDS = ("jitter", "cache", "index", "lock", "queue")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engram:
    monkeypatch.setattr(bulk_tallies, "_MIN_CACHED", 0)
    return open_test_store(dedicated(tmp_path / "store"), clock=SetClock())


def indexed(store: Engram) -> list[tuple[object, ...]]:
    """Return the tallies in an index built from nothing, and in one rebuilt from the cached sums."""
    found = []
    for _ in range(2):
        refresh(store.store, rebuild="tested")
        found.append(execute(store.store, "SELECT id, confidence, helpful FROM lore ORDER BY id").rows)
    assert found[0] == found[1]
    return [tuple(row) for row in found[0]]


def single(store: Engram) -> list[tuple[object, ...]]:
    """Return the same tallies, computed entry by entry."""
    ids = sorted(one.lore.id for one in store.list(limit=10).lore)
    entries = [judgements.with_tally(store.store, store.get(one).lore) for one in ids]
    return [(one.id, one.confidence, one.validation_count) for one in entries]


def test_a_rebuilt_index_uses_the_corrected_times_of_lines_with_wrong_clocks(store: Engram) -> None:
    ids = sorted(
        store.record(f"What to know of the {word}: {word}.", category="FACT").lore.id for word in WORDS
    )
    store.feedback(helpful=ids[:3])
    clock = store.store.clock
    assert isinstance(clock, SetClock)
    clock.moment += timedelta(days=40)
    assert [row[1] for row in indexed(store)] == [0.77, 0.77, 0.77, 0.69, 0.69]
    came = int((clock.moment - timedelta(days=5)).timestamp() * 1000)
    lines = judgements.lines_of(store.store, ids[:2])
    store.store.judgements.keep_times([(line.id, line.entry, came) for line in lines])
    assert [row[1] for row in indexed(store)] == [0.78, 0.78, 0.77, 0.69, 0.69]


def test_a_rebuilt_index_equals_the_tallies_of_single_entries_after_each_change(store: Engram) -> None:
    ids = [store.record(f"What to know of the {word}: {word}.", category="FACT").lore.id for word in WORDS]
    assert indexed(store) == single(store)
    store.feedback(helpful=[ids[0], ids[1]], incorrect=ids[2])
    changed = indexed(store)
    assert changed == single(store)
    assert [row[2] for row in changed] == [1, 1, 0, 0, 0]
    store.feedback(helpful=ids[0], again=True)
    store.undo()
    store.feedback(incorrect=ids[3])
    assert indexed(store) == single(store)
    store.edit(ids[0], Edit(content="Other words about it."))
    store.edit(ids[1], Edit(confidence=0.2))
    assert indexed(store) == single(store)
    store.forget(ids[4])
    assert indexed(store) == single(store)
    assert len(indexed(store)) == 4
