"""The graph over a store's vectors: when it is made, continued and replaced.

Mutants that make no difference: how long a lock is waited for; the first missing vector, searched for from a row before or as
the first of two; `None` for `False`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from storekit import open_test_store

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.index import vector_graph
from engram.adapters.index.catalog import WAITING, set_vector_checks
from engram.domain.settings import Settings
from engram.usecases.index import vector_graph as store_graph
from engram.usecases.index.refresh import refresh
from engram.usecases.index.vector_graph import is_graph_due
from engram.usecases.index.vector_graph import make_graph as make_store_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.index.vector_graph import GraphFile
    from engram.app import Engram


@pytest.fixture
def small(tmp_path: Path, home: Path) -> Iterator[Engram]:
    """A store whose graph is due: it has 15 vectors, the configured minimum."""
    file = home / ".config" / "engram" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[embedding]\ngraph = 15\n")
    with open_test_store(tmp_path / "store") as engram:
        write(engram, range(15))
        yield engram


def write(engram: Engram, numbers: range) -> None:
    for number in numbers:
        Path(engram.path, "lore", f"{number}.md").write_text(
            f"# Entry {number} is about service {number % 7}.\n"
        )
    engram.refresh()


def graphs(engram: Engram) -> tuple[GraphFile | None, list[str]]:
    """Return the graph named in the catalog, and the files of all graphs."""
    generation = engram.store.index.look()
    assert generation is not None
    return generation.graph_file, sorted(one.name for one in Path(generation.folder).glob("graph-*"))


def test_a_graph_is_due_with_enough_vectors_and_when_a_sixteenth_is_not_in_it(small: Engram) -> None:
    store, generation = small.store, small.store.index.look()
    assert generation is not None

    def due(**values: int) -> bool:
        generation.reload()
        vars(generation).update(values)
        return is_graph_due(store)

    assert [due(next_slot=slots) for slots in (14, 15)] == [False, True]
    assert [due(waiting=1, next_row=rows) for rows in (16, 17)] == [False, True]
    assert not due(other_model=True)
    generation.other_model = False
    assert make_store_graph(store)
    graph = graphs(small)[0]
    assert graph is not None
    assert [due(next_slot=slots) for slots in (15, 16, 17)] == [False, False, True]
    assert due(waiting=9, next_slot=17), "an existing graph is compared by newer vectors, not by waiting ones"
    none = graph._replace(expansion=0)
    assert [due(next_slot=slots, _graph=none.packed()) for slots in (30, 31)] == [False, True]
    Path(generation.folder, graph.name).unlink()
    assert due()
    store.settings = Settings({"embedding.graph": 0})
    assert not due()
    store.index.drop()
    assert not is_graph_due(store)


def test_a_continued_graph_replaces_the_previous_one(small: Engram) -> None:
    assert make_store_graph(small.store)
    assert not make_store_graph(small.store), "it is not due again"
    first, files = graphs(small)
    assert first is not None
    assert files == [first.name]
    write(small, range(15, 20))
    continued = Mock(wraps=vector_graph.make_graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_graph, "make_graph", continued)
        assert make_store_graph(small.store)
    assert continued.call_args.args[3] == first
    second, files = graphs(small)
    assert second is not None
    assert (second.slots, files) == (20, [second.name])


def test_a_graph_ends_before_the_first_missing_vector(small: Engram) -> None:
    write(small, range(15, 20))
    generation = small.store.index.look()
    assert generation is not None
    set_vector_checks(generation.catalog, {17: WAITING})
    assert make_store_graph(small.store)
    graph = graphs(small)[0]
    assert graph is not None
    assert graph.slots == 17


def test_no_graph_is_made_concurrently_or_published_to_a_replaced_index(
    small: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = small.store
    monkeypatch.setattr(store_graph, "_LOCK_SECONDS", 0.0)
    with FileLock(os.path.join(store.index.folder, "graph.lock")):
        assert not make_store_graph(store)
    folder = Path(store.index.look().folder)  # type: ignore[union-attr]
    (folder / "graph-7-7.usearch").write_text("left by a process that was killed")
    with FileLock(os.path.join(store.index.folder, "writer.lock")):
        assert not make_store_graph(store)
    assert graphs(small) == (None, [])
    graph = vector_graph.make_graph

    def replaced_meanwhile(*arguments: Any) -> GraphFile:
        done = graph(*arguments)
        refresh(store, rebuild="meanwhile")
        return done

    monkeypatch.setattr(vector_graph, "make_graph", replaced_meanwhile)
    assert not make_store_graph(store)
    assert graphs(small) == (None, [])
    assert [*folder.glob("graph-*")] == []
    store.index.drop()
    Path(store.index.folder, "CURRENT").unlink()
    assert not make_store_graph(store)
