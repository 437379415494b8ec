"""Recall that goes one step on: to lore about the entities that a question names, or the best of its answer."""

from __future__ import annotations

import contextlib

from engram.domain.entry.refs import fold
from engram.domain.graph.graph import entity_key, name_key
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph.entities import list_entities
from engram.usecases.graph.graph_building import build_graph
from engram.usecases.index.index_query import consult
from engram.usecases.opening import scopes
from engram.usecases.recall import search
from engram.usecases.recall.query import HYBRID, SCAN, filters_for, recalled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.index.generation import Generation
    from engram.domain.graph.graph import BuiltGraph
    from engram.usecases.recall.query import Question, Recalled
    from engram.usecases.store.store import Store

_BEST = 3  # so many of the answer say where to go
_LONGEST = 5  # words of a name
_TOO_MANY = 200  # an entity that so many lore name leads nowhere


def with_hops(
    stores: Sequence[Store], question: Question, strategy: str, shown: Sequence[Recalled], limit: int
) -> list[Recalled]:
    """The answer with lore one step away at its end, in at most two fifths of its places; `via` says over which entity."""
    places = limit * 2 // 5
    if strategy == SCAN or question.as_of or not places:
        return list(shown)
    found: list[Recalled] = []
    for store in stores:  # that one cannot be asked is in the notes of the answer already
        with contextlib.suppress(*scopes.TROUBLE):
            found += _one_step(store, question, strategy, list(shown), places)
    best: dict[str, Recalled] = {}
    for hit in sorted(found, key=lambda hit: (-round(hit.score.total, 6), hit.lore.id)):
        best.setdefault(hit.lore.id, hit)  # several scopes may have it
    added = list(best.values())[:places]
    return [*shown[: limit - len(added)], *added]


def _one_step(
    store: Store, question: Question, strategy: str, shown: list[Recalled], places: int
) -> list[Recalled]:
    """The best lore of one store that are a step away."""
    entities = list_entities(store)

    def look(generation: Generation) -> list[Recalled]:
        there = build_graph(store, generation, entities)
        best = [hit.lore.id for hit in shown[:_BEST]]
        ways = _ways(there, question.text, best, {hit.lore.id for hit in shown})
        rows = generation.catalog.where_in(
            "SELECT row FROM files", "row IS NOT NULL AND shadowed = 0 AND id", [*ways]
        )
        filters = filters_for(store, question)._replace(among=frozenset([row for (row,) in rows]))
        if not filters.among:
            return []
        meaning = strategy == HYBRID and store.embedder is not None
        hits = search.indexed(store, generation, question.text, filters, places, meaning=meaning)
        read = search.read(store, hits, places)
        return [
            recalled(store, hit, lore)._replace(via=ways[lore.id])
            for hit, lore in read
            if lore.id in ways and not search.lore_waits(filters, lore)
        ]

    return consult(store, look)


def _ways(there: BuiltGraph, text: str, best: Sequence[str], known: set[str]) -> dict[str, str]:
    """The lore that are a step away, each with the name of the entity between; what the question names comes first."""
    graph = there.graph
    keys = [*_named_in(there, text), *(key for lore_id in best for key in graph.named.get(lore_id, ()))]
    found: dict[str, str] = {}
    for key in dict.fromkeys(keys):
        about = graph.about.get(key, {})
        for lore_id in about if len(about) < _TOO_MANY else ():
            if lore_id not in known:
                found.setdefault(lore_id, graph.nodes[key].name)
    return found


def _named_in(there: BuiltGraph, text: str) -> Iterator[str]:
    """The keys of the entities whose names a text has, word for word."""
    words = fold(text).split()
    for start in range(len(words)):
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
            key = _key_of(there, " ".join(words[start:end]))
            if key:
                yield key


def _key_of(there: BuiltGraph, name: str) -> str:
    if name in STOP_WORDS:
        return ""
    slugs = there.meant.get(name, ())
    key = entity_key(slugs[0]) if len(slugs) == 1 else name_key(name)
    return key if key in there.graph.nodes else ""
