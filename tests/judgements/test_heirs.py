"""The entry that judgements of a folded entry count for is the same in every clone, whatever became of the fold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock, dedicated, open_test_store
from storekit import commit

from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from engram.app import Engram

TEXTS = (
    "Retries need jitter, or all clients come back at once.",
    "The build cache is cleared when the compiler changes.",
    "Migrations run before the new version takes any traffic.",
)


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(dedicated(tmp_path / "store"), clock=SetClock())


def took_in(store: Engram, lore_id: str, other: str) -> None:
    """Note in the file of an entry that it took in another, as a fold in some clone does."""
    file = Path(store.path) / store.get(lore_id).path
    raw = file.read_text("utf-8")
    file.write_text(raw.replace("created_at:", f"merged_from: [{other}]\ncreated_at:", 1), "utf-8")


def counts(store: Engram, *ids: str) -> list[int]:
    """Return the helpful votes of each, which a single entry, a list and a new index agree on."""
    store.refresh()
    single = [store.get(one).lore.validation_count for one in ids]
    for _ in range(2):
        listed = {one.lore.id: one.lore.validation_count for one in store.list().lore}
        assert [listed[one] for one in ids] == single
        refresh(store.store, rebuild="measured")
    return single


def test_judgements_of_an_entry_folded_into_two_count_for_the_older_one(store: Engram) -> None:
    older, younger = (store.record(text, category="FACT").lore.id for text in TEXTS[:2])
    gone = store.record(TEXTS[2], category="FACT").lore
    store.feedback(helpful=gone.id)
    path = Path(store.path) / store.get(gone.id).path
    took_in(store, younger, gone.id)
    path.unlink()
    commit(store)
    assert counts(store, older, younger) == [0, 1]
    took_in(store, older, gone.id)
    assert counts(store, older, younger) == [1, 0]
    (Path(store.path) / store.get(older).path).unlink()
    assert counts(store, younger) == [1]


def test_an_entry_that_exists_again_has_its_own_judgements_again(store: Engram) -> None:
    heir, gone = (store.record(text, category="FACT").lore.id for text in TEXTS[:2])
    store.feedback(helpful=gone)
    path = Path(store.path) / store.get(gone).path
    raw = path.read_bytes()
    took_in(store, heir, gone)
    path.unlink()
    assert counts(store, heir) == [1]
    path.write_bytes(raw)
    assert counts(store, heir, gone) == [0, 1]
    store.feedback(helpful=gone, again=True)
    assert counts(store, heir, gone) == [0, 2]
    path.unlink()
    assert counts(store, heir) == [2]
