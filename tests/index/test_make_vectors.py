"""Missing vectors are made in batches, for texts still in the files, by one process at a time.

Mutants that make no difference: the size of a batch, and how long the lock is waited for; searching for waiting texts from a
row before or among more rows; a bulk writer that adds no text; `None` for `False`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from endpoint_kit import LoopbackEndpoint, served
from storekit import contents, open_test_store

from engram.adapters.embed.errors import EmbeddingError, EmbeddingUnavailableError
from engram.adapters.embed.vector_cache import text_key
from engram.adapters.files.durable.lock import FileLock
from engram.adapters.index.catalog import texts_without_vectors
from engram.usecases.index import catch_up, vectors
from engram.usecases.index.refresh import refresh
from engram.usecases.index.vectors import Filled, can_make_vectors, make_vectors
from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.adapters.index.index import Generation
    from engram.app import Engram

COUNT = 20
LONG = "The river is cold in winter, and the paint of the car comes off.\n" * 20  # has several passages


def file_of(engram: Engram, number: int) -> Path:
    return Path(engram.path, "lore", f"{number:02}.md")


def index(engram: Engram) -> Generation:
    found = engram.store.index.look()
    assert found is not None
    return found


def waiting_rows(engram: Engram) -> list[int]:
    return [one.row for one in texts_without_vectors(index(engram).catalog, -1, 2 * COUNT)]


def during(engram: Engram, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Any]) -> None:
    """Call `happens` each time the model runs."""
    model = engram.store.model
    assert model is not None
    embed = model.embed_parts
    monkeypatch.setattr(model, "embed_parts", lambda *texts: (happens(), embed(*texts))[1])


@pytest.fixture
def endpoint() -> Iterator[LoopbackEndpoint]:
    with served() as found:
        yield found


@pytest.fixture
def engram(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, endpoint: LoopbackEndpoint
) -> Iterator[Engram]:
    """A store with a model too slow for 20 texts at once; none of them has vectors yet."""
    monkeypatch.setattr(vectors, "_BATCH", 8)
    file = home / ".config" / "engram" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[embedding]\nprovider = "endpoint"\nurl = "{endpoint.url}"\nmodel = "words"\n')
    with open_test_store(tmp_path / "store") as found:
        for number in range(COUNT):
            file_of(found, number).write_text(f"The car number {number}.\n{LONG if number == 3 else ''}")
        found.refresh()
        yield found


def test_all_vectors_are_made_except_for_deleted_or_changed_texts(engram: Engram) -> None:
    file_of(engram, COUNT - 1).unlink()
    file_of(engram, 9).write_text("The bread is stale.\n")
    steps: list[tuple[int, int]] = []
    done = make_vectors(engram.store, lambda *step: steps.append(step))
    assert done == Filled(18, 2, "")
    assert steps == [(8, 20), (15, 20), (18, 20)]
    engram.refresh()
    assert make_vectors(engram.store) == Filled(0, 0, "")
    assert waiting_rows(engram) == []
    assert engram.query("loaf").lore[0].lore.content == "The bread is stale."
    made = contents(engram)
    refresh(engram.store, rebuild="to compare")
    assert contents(engram) == made


def test_a_rebuild_removes_unused_vectors_from_the_cache(engram: Engram, endpoint: LoopbackEndpoint) -> None:
    make_vectors(engram.store)
    cache = engram.store.model.cache  # type: ignore[union-attr]
    keys = [text_key(text) for text in endpoint.texts if text.startswith("The car")]
    assert len(cache.found(keys)) == len(keys) == COUNT
    file_of(engram, 0).unlink()
    with open_test_store(Path(engram.path)) as other:
        refresh(other.store, rebuild="to drop what is not used")
    assert len(cache.found(keys)) == COUNT - 1


def test_nothing_is_written_if_all_texts_were_deleted_or_another_process_writes(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_LOCK_SECONDS", 0.0)
    generation = index(engram)
    with FileLock(os.path.join(engram.store.index.folder, "writer.lock")):
        assert make_vectors(engram.store) == Filled(0, COUNT, "")
    for number in range(COUNT):
        file_of(engram, number).unlink()
    assert make_vectors(engram.store) == Filled(0, COUNT, "")
    assert index(engram) is generation


def test_the_vectors_of_a_small_first_batch_are_made_at_once(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "_BATCH", 2)
    for number in range(COUNT, COUNT + 5):
        file_of(engram, number).write_text(f"The melody number {number}.\n")
    engram.refresh()
    assert waiting_rows(engram) == [*range(COUNT), 22, 23, 24]


def test_vectors_can_be_made_if_some_are_missing_and_no_process_makes_them(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = engram.store
    assert can_make_vectors(store)
    with FileLock(os.path.join(store.index.folder, "vectors.lock")):
        assert not can_make_vectors(store)
        assert make_vectors(store) == Filled(0, COUNT, "")
    with monkeypatch.context() as patch:
        patch.setattr(index(engram), "waiting", 0)
        assert not can_make_vectors(store)
        assert make_vectors(store) == Filled(0, 0, "")
        patch.setattr(index(engram), "other_model", True)
        assert can_make_vectors(store)
        assert make_vectors(store) == Filled(0, 0, "")
        patch.setattr(index(engram), "waiting", COUNT)
        assert make_vectors(store) == Filled(0, COUNT, "")
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "model", None)
        assert not can_make_vectors(store)
        assert make_vectors(store) == Filled(0, COUNT, "")
    lock = Path(store.index.folder, "vectors.lock")
    lock.unlink()
    lock.symlink_to(lock / "nowhere")
    assert not can_make_vectors(store)
    trouble = make_vectors(store)
    assert trouble == Filled(0, COUNT, trouble.trouble)
    assert trouble.trouble
    assert "lock" not in trouble.trouble
    store.give_up_meaning(EmbeddingUnavailableError("The model is loading.", "Wait."))
    lock.unlink()
    assert not can_make_vectors(store), "it failed just now"
    store.index.drop()
    assert not can_make_vectors(store)
    Path(store.index.folder, "CURRENT").unlink()
    assert make_vectors(store) == Filled(0, 0, "")


def test_changes_made_while_the_model_runs_are_not_overwritten(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited() -> None:
        for number in (0, 7):
            file_of(engram, number).write_text(f"The queue number {number}.\n")
        refresh(engram.store, paths=[f"lore/{number:02}.md" for number in (0, 7)])

    during(engram, monkeypatch, edited)
    assert make_vectors(engram.store) == Filled(18, 0, "")
    assert [one.kind for one in doctor(engram.store) if one.kind == "index"] == []
    assert {hit.lore.content[:9] for hit in engram.query("backlog", k=2).lore} == {"The queue"}


@pytest.mark.parametrize("what", ["rebuilt", "gone", "other"])
def test_making_vectors_ends_when_another_process_rebuilt_the_index(
    engram: Engram, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def happens() -> None:
        if what == "rebuilt":
            refresh(engram.store, rebuild="meanwhile")
        elif what == "gone":
            Path(engram.store.index.folder, "CURRENT").unlink()
        else:
            index(engram).model = "other"

    during(engram, monkeypatch, happens)
    done = make_vectors(engram.store)
    if what == "rebuilt":
        assert done.done > 0
        assert [one.kind for one in doctor(engram.store) if one.kind == "index"] == []
    else:
        assert done == Filled(0, 0, "")


@pytest.mark.parametrize(
    ("error", "is_kept"),
    [
        (EmbeddingUnavailableError("It is loading.", "Wait."), True),
        (EmbeddingError("It is broken.", "Mend it."), False),
    ],
)
def test_making_vectors_stops_at_a_failure_of_the_model_and_reports_it(
    engram: Engram, monkeypatch: pytest.MonkeyPatch, error: EmbeddingError, is_kept: bool
) -> None:
    during(engram, monkeypatch, Mock(side_effect=[None, error]))
    assert make_vectors(engram.store) == Filled(8, COUNT - 8, f"{error.message} {error.hint}")
    assert (engram.store.model is not None) == is_kept


def test_damage_found_while_making_vectors_causes_a_rebuild(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = index(engram)
    during(engram, monkeypatch, lambda: generation.catalog.connection.execute("DROP TABLE row_tags"))
    assert make_vectors(engram.store) == Filled(0, 0, "")
    assert engram.refresh().rebuilt
