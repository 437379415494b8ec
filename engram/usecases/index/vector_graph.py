"""Make the graph over the vectors of a large store in the background, and continue it as they grow."""

from __future__ import annotations

import os

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.index.catalog import texts_without_vectors
from engram.adapters.index.damage import converting_damage
from engram.adapters.index.index import GRAPH
from engram.adapters.index.writer import GenerationWriter
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation
    from engram.adapters.index.vector_graph import GraphFile
    from engram.usecases.store.store import Store

_TAIL_SHARE = 16  # a graph is continued when one vector in this many is newer
_LOCK_SECONDS = 30.0


def is_graph_due(store: Store) -> bool:
    """Whether to make or continue a graph: there are enough vectors, and no graph has most of them."""
    generation = store.index.generation
    threshold = int(store.settings.number("embedding.graph"))
    if generation is None or not threshold or generation.next_slot < threshold or generation.other_model:
        return False
    graph = generation.graph_file
    if graph is not None and not graph.expansion:  # unsuitable for a graph; try again with twice as many
        return generation.next_slot > 2 * graph.slots
    if graph is not None:
        from engram.adapters.index.vector_graph import graph_exists

        if graph_exists(generation.folder, graph):
            return (generation.next_slot - graph.slots) * _TAIL_SHARE > generation.next_slot
    # A graph ends before the first missing vector, so with many missing it would leave out too many.
    return generation.waiting * _TAIL_SHARE < generation.next_row


def make_graph(store: Store) -> bool:
    """Make or continue the graph; returns whether there is a new one. Other processes can keep writing.

    Raises DamagedIndexError, IndexUnavailableError or OSError.
    """
    with FileLock(os.path.join(store.index.folder, "graph.lock")).tried() as held:
        if not held:
            return False
        with store.lock:
            generation = store.index.look()
            if generation is None or not is_graph_due(store):
                return False
            with converting_damage():
                slots = _complete_slots(generation)
        graph = _make(generation, slots)
        return _publish(store, generation.folder, graph)


def _complete_slots(generation: Generation) -> int:
    """Return the slot of the first missing vector, or the number of slots: those before it can only change to zeros."""
    assert generation.vectors is not None
    missing = texts_without_vectors(generation.catalog, -1, 1)
    if not missing:
        return generation.next_slot
    return generation.vectors.edges(generation.next_row, generation.next_slot)[missing[0].row]


def _make(generation: Generation, slots: int) -> GraphFile:
    from engram.adapters.index import vector_graph

    assert generation.vectors is not None
    previous = generation.graph_file
    vector_graph.remove_graphs(generation.folder, keep=previous.name if previous is not None else "")
    vectors = generation.vectors.stored(slots)
    token = f"{slots}-{os.getpid()}"
    return vector_graph.make_graph(generation.folder, vectors, token, previous, _threads())


def _publish(store: Store, folder: str, graph: GraphFile) -> bool:
    """Name a graph in the catalog, unless its generation is no longer the current one."""
    from engram.adapters.index.vector_graph import remove_graph, remove_graphs

    lock = FileLock(os.path.join(store.index.folder, "writer.lock"))
    with store.lock, lock.tried(_LOCK_SECONDS) as held:
        generation = store.index.look() if held else None
        if generation is None or generation.folder != folder:
            remove_graph(folder, graph)
            return False
        with GenerationWriter(generation, bulk=False) as writer:
            writer.commit({GRAPH: graph.packed()})
        remove_graphs(folder, keep=graph.name)
        return True


def _threads() -> int:
    """Return half the number of processors, as this work has low priority."""
    return max(1, (os.cpu_count() or 1) // 2)
