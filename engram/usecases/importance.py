"""How important entities and lore are by the graph: computed when the graph is another one, kept beside the index."""

from __future__ import annotations

from engram.adapters.index.ranks import kept_digest
from engram.domain.graph import importance, ways
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consult import consult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.index.generation import Generation
    from engram.domain.graph import Graph
    from engram.usecases.store import Store


def refresh_importance(store: Store) -> bool:
    """Bring the importance of entities and lore in step with the graph; whether there was anything to do.

    Nothing is computed where the graph is the one of last time. Raises StoreError.
    """
    from engram.usecases.graph import graph_of

    with store.lock:
        graph = graph_of(store)

        def look(generation: Generation) -> bool:
            before = kept_digest(generation.catalog)
            importance_in(generation, graph)
            return kept_digest(generation.catalog) != before

        return consult(store, look)


def importance_in(generation: Generation, graph: Graph) -> Mapping[str, float]:
    """The importance of every node of this graph, 0..1, by key: the kept one, else computed, and kept if that can be now."""
    found = ways(graph)
    digest = found.digest()
    if kept_digest(generation.catalog) == digest:
        return generation.ranks()
    from engram.adapters.graph.pagerank import pagerank

    ranks = importance(pagerank(len(found.keys), found.steps))
    computed = dict(zip(found.keys, ranks, strict=True))
    generation.keep_ranks(digest, computed)
    return computed
