"""How important entities and lore are by the graph: computed when the graph is another one, kept beside the index."""

from __future__ import annotations

from engram.adapters.index.ranks import RankedGraph, ranked_graph
from engram.domain.graph.graph import importance, ways
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph.entities import all_entities
from engram.usecases.graph.graph_building import drawn, stamp_of
from engram.usecases.index.index_query import consult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.index.generation import Generation
    from engram.domain.graph.drawn_graph import Drawn
    from engram.usecases.store.store import Store


def refresh_importance(store: Store) -> bool:
    """Bring the importance of entities and lore in step with the graph; whether it was another one than last time.

    Where neither lore nor entities changed since, nothing is looked at but that; where the graph is the same after all,
    nothing is computed. Raises StoreError.
    """
    with store.lock:
        entities = all_entities(store)

        def look(generation: Generation) -> bool:
            before = ranked_graph(generation.catalog)
            if before.stamp == stamp_of(store, generation, entities):
                return False
            found = drawn(store, generation, entities)
            importance_in(generation, found)
            return bool(found.graph.edges) and ranked_graph(generation.catalog).digest != before.digest

        return consult(store, look)


def importance_in(generation: Generation, found: Drawn) -> Mapping[str, float]:
    """The importance of every node of this graph, 0..1, by key: the kept one, else computed, and kept if that can be now."""
    kept = ranked_graph(generation.catalog)
    if kept.stamp == found.stamp:
        if not found.ranks:
            found.ranks.update(generation.ranks())
        return found.ranks
    there = ways(found.graph)
    now = RankedGraph(found.stamp, there.digest())
    if kept.digest == now.digest:
        generation.save_ranks(now, None)
        found.ranks.update(generation.ranks())
        return found.ranks
    from engram.adapters.graph.pagerank import pagerank

    ranks = importance(pagerank(len(there.keys), there.steps))
    found.ranks.update(zip(there.keys, ranks, strict=True))
    generation.save_ranks(now, found.ranks)
    return found.ranks
