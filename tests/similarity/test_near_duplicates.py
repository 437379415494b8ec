"""A look at what a new text repeats: as recording would find it, also in files that nobody has read yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import QUEUE, TIDES, make_plain_store, open_test_store

from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from pathlib import Path


def test_weigh_returns_what_record_does(tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=Clock()) as store:
        store.record(QUEUE, category="fact")
        found = store.weigh(QUEUE + "\n")
        assert found.known is not None
        assert found.known.id == store.record(QUEUE + "\n").lore.id
        assert store.weigh(TIDES).known is None


def test_an_equal_text_in_a_file_that_is_not_indexed_is_found(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path)
    with open_test_store(root, clock=Clock()) as store:
        store.refresh()
        first = store.record(QUEUE, category="fact")
        store.refresh()
    with open_test_store(root, clock=Clock()) as other:
        other.store.index.look()
        second = other.record(TIDES, category="fact")
    with open_test_store(root, clock=Clock()) as store:
        assert store.record(TIDES).lore.id == second.lore.id
        assert store.record(QUEUE).lore.id == first.lore.id


def test_the_model_that_compares_is_the_stores_own_or_opened_once_for_all_records(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "one", clock=Clock()) as engram:
        assert engram.store.bundled_embedder is engram.store.model
    words_only = '[embedding]\nprovider = "none"\n'
    with open_test_store(tmp_path / "two", clock=Clock(), settings=words_only) as engram:
        assert engram.store.model is None
        assert engram.store.bundled_embedder is engram.store.bundled_embedder
        assert engram.store.bundled_embedder.name == "bundled"
