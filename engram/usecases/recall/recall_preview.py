"""The past queries that an entry would answer if it were released from quarantine: a preview for the reviewer."""

from __future__ import annotations

from engram.domain.recall.ranking import THRESHOLD_KEY
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.resolve import resolve
from engram.usecases.recall import search
from engram.usecases.recall.question import Question, criteria_for
from engram.usecases.recall.usage import latest_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

MOST_QUERIES = 100  # the latest ones


class WouldAnswer(NamedTuple):
    """The past `queries` that would show the entry `id` if it were released, of the `asked` that were repeated."""

    id: str
    queries: tuple[str, ...]
    asked: int


def would_answer(store: Store, name: str) -> WouldAnswer:
    """Repeat the latest queries with this entry admitted. Raises NotFoundError, AmbiguousError, StoreError."""
    with store.lock:
        lore_id = resolve(store, name).id
        queries = latest_queries(store, MOST_QUERIES)
        return WouldAnswer(lore_id, answered_queries(store, lore_id, queries), len(queries))


def answered_queries(store: Store, lore_id: str, queries: Sequence[str]) -> tuple[str, ...]:
    """Return the queries that would show this entry. Call this with the store's lock held."""
    limit = int(store.settings.number("recall.limit"))
    criteria = criteria_for(store, Question("-"))._replace(admitted=lore_id)

    def ask(generation: Generation) -> tuple[str, ...]:
        meaning, threshold = store.embedder is not None, store.settings.number(THRESHOLD_KEY)
        found = []
        for text in queries:
            hits = search.search_index(store, generation, text, criteria, limit, meaning=meaning)
            if any(hit.id == lore_id for hit in search.worth_showing(hits, threshold)[:limit]):
                found.append(text)
        return tuple(found)

    return query_index(store, ask)
