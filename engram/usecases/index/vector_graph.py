"""Make the graph over the vectors of a large store, in the background, and again as they grow."""

from __future__ import annotations

import os

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.index.catalog import waiting
from engram.adapters.index.damage import damage_noticed
from engram.adapters.index.index import GRAPH
from engram.adapters.index.writer import GenerationWriter
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation
    from engram.adapters.index.vector_graph import GraphFile
    from engram.usecases.store.store import Store

_TAIL_SHARE = 16  # a graph is continued when one vector in so many came after it
_LOCK_SECONDS = 30.0


def graph_due(store: Store) -> bool:
    """Test whether a graph is to be made or continued: there are enough vectors, and none of most of them."""
    generation = store.index.generation
    least = int(store.settings.number("embedding.graph"))
    if generation is None or not least or generation.next_slot < least or generation.other_model:
        return False
    known = generation.graph_file
    if known is not None and not known.expansion:  # these texts are not made for a graph; perhaps with others
        return generation.next_slot > 2 * known.slots
    if known is not None:
        from engram.adapters.index.vector_graph import is_there

        if is_there(generation.folder, known):
            return (generation.next_slot - known.slots) * _TAIL_SHARE > generation.next_slot
    # If many vectors are still missing, all that follow the first of them would stay outside.
    return generation.waiting * _TAIL_SHARE < generation.next_row


def make_graph(store: Store) -> bool:
    """Make or continue the graph; whether there is a new one. Other processes go on writing meanwhile.

    Raises DamagedIndexError, IndexUnavailableError or OSError.
    """
    with FileLock(os.path.join(store.index.folder, "graph.lock")).tried() as held:
        if not held:
            return False
        with store.lock:
            generation = store.index.look()
            if generation is None or not graph_due(store):
                return False
            with damage_noticed():
                slots = _complete_slots(generation)
        made = _make(generation, slots)
        return _put(store, generation.folder, made)


def _complete_slots(generation: Generation) -> int:
    """Return the place of the first vector that is still missing, or how many there are: the others do not change but to zeros."""
    assert generation.vectors is not None
    missing = waiting(generation.catalog, -1, 1)
    if not missing:
        return generation.next_slot
    return generation.vectors.edges(generation.next_row, generation.next_slot)[missing[0].row]


def _make(generation: Generation, slots: int) -> GraphFile:
    from engram.adapters.index import vector_graph

    assert generation.vectors is not None
    before = generation.graph_file
    vector_graph.remove_graphs(generation.folder, keep=before.name if before is not None else "")
    vectors = generation.vectors.stored(slots)
    token = f"{slots}-{os.getpid()}"
    return vector_graph.make_graph(generation.folder, vectors, token, before, _threads())


def _put(store: Store, folder: str, made: GraphFile) -> bool:
    """Have the catalog name a graph, unless its generation is no longer the current one."""
    from engram.adapters.index.vector_graph import remove_graph, remove_graphs

    lock = FileLock(os.path.join(store.index.folder, "writer.lock"))
    with store.lock, lock.tried(_LOCK_SECONDS) as held:
        generation = store.index.look() if held else None
        if generation is None or generation.folder != folder:
            remove_graph(folder, made)
            return False
        with GenerationWriter(generation, bulk=False) as writer:
            writer.commit({GRAPH: made.packed()})
        remove_graphs(folder, keep=made.name)
        return True


def _threads() -> int:
    """Return half of the processors: this is nobody's first need."""
    return max(1, (os.cpu_count() or 1) // 2)
