"""Graph expansion of an answer: entries about the entities that the question or the best entries name."""

from __future__ import annotations

import contextlib
from itertools import islice

from engram.domain.entry.refs import fold
from engram.domain.graph.graph import BuiltGraph, entity_key, name_key
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph.entities import list_entities
from engram.usecases.graph.graph_building import build_graph
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes
from engram.usecases.recall import search
from engram.usecases.recall.question import HYBRID, SCAN, Question, Recalled, as_recalled, criteria_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

_MAX_SEEDS = 3  # entries of the answer to start from
_MAX_NAME_WORDS = 5
_MAX_ENTRIES = 200  # an entity that more entries name tells nothing about any of them


def expand(
    stores: Sequence[Store], question: Question, strategy: str, shown: Sequence[Recalled], limit: int
) -> list[Recalled]:
    """Append entries one step away, up to two fifths of the limit; their `via` names the entity that links them."""
    places = limit * 2 // 5
    if strategy == SCAN or question.as_of or not places:
        return list(shown)
    found: list[Recalled] = []
    for store in stores:  # the answer has a note about each that fails
        with contextlib.suppress(*scopes.TROUBLE):
            found += _expand_in(store, question, strategy, list(shown), places)
    best: dict[str, Recalled] = {}
    for hit in sorted(found, key=lambda hit: (-round(hit.score.total, 6), hit.lore.id)):
        best.setdefault(hit.lore.id, hit)  # it may be in several scopes
    added = list(best.values())[:places]
    return [*shown[: limit - len(added)], *added]


def _expand_in(
    store: Store, question: Question, strategy: str, shown: list[Recalled], places: int
) -> list[Recalled]:
    """Return the best entries of one store that are one step away."""
    entities = list_entities(store)

    def ask(generation: Generation) -> list[Recalled]:
        view = build_graph(store, generation, entities)
        seeds = [hit.lore.id for hit in shown[:_MAX_SEEDS]]
        via = _find_neighbours(view, question.text, seeds, {hit.lore.id for hit in shown})
        rows = generation.catalog.where_in(
            "SELECT row FROM files", "row IS NOT NULL AND shadowed = 0 AND id", [*via]
        )
        criteria = criteria_for(store, question)._replace(rows=frozenset([row for (row,) in rows]))
        if not criteria.rows:
            return []
        meaning = strategy == HYBRID and store.embedder is not None
        hits = search.search_index(store, generation, question.text, criteria, places, meaning=meaning)
        read = search.read_candidates(store, criteria, (hit for hit in hits if hit.id in via))
        return [hit._replace(via=via[hit.lore.id]) for hit in as_recalled(store, [*islice(read, places)])]

    return query_index(store, ask)


def _find_neighbours(view: BuiltGraph, text: str, seeds: Sequence[str], known: set[str]) -> dict[str, str]:
    """Map the ids of entries one step away to the entity that links them; entities of the question come first."""
    graph = view.graph
    keys = [*_find_entities(view, text), *(key for lore_id in seeds for key in graph.named.get(lore_id, ()))]
    found: dict[str, str] = {}
    for key in dict.fromkeys(keys):
        about = graph.about.get(key, {})
        for lore_id in about if len(about) < _MAX_ENTRIES else ():
            if lore_id not in known:
                found.setdefault(lore_id, graph.nodes[key].name)
    return found


def _find_entities(view: BuiltGraph, text: str) -> Iterator[str]:
    """Yield the keys of the entities that a text names, word for word."""
    words = fold(text).split()
    for start in range(len(words)):
        for end in range(start + 1, min(start + _MAX_NAME_WORDS, len(words)) + 1):
            if key := _key_of(view, " ".join(words[start:end])):
                yield key


def _key_of(view: BuiltGraph, name: str) -> str:
    if name in STOP_WORDS:
        return ""
    slugs = view.meant.get(name, ())
    key = entity_key(slugs[0]) if len(slugs) == 1 else name_key(name)
    return key if key in view.graph.nodes else ""
