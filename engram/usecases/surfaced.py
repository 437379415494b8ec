"""Why a lore was shown lately: the queries of the retrieval log that it answered."""

from __future__ import annotations

import json

from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.resolve import resolve

if TYPE_CHECKING:
    from engram.usecases.store import Store


class Surfaced(NamedTuple):
    """A query that a lore answered: when (Unix seconds), of which session, with which `rank` (1 is best) of how many.

    `score` is what it was ranked by, `strength` how good the whole answer was.
    """

    at: float
    session: str
    query: str
    strategy: str
    strength: str
    rank: int
    shown: int
    score: float


def surfaced(store: Store, name: str, limit: int = 20) -> list[Surfaced]:
    """The last queries that the named lore answered, newest first. Raises NotFoundError, AmbiguousError, StoreError."""
    with store.lock:
        lore_id = resolve(store, name).id
        rows = store.session_state.run(
            "SELECT at, session, query, strategy, strength, ids, scores FROM retrievals"
            " WHERE instr(ids, ?) ORDER BY number DESC LIMIT ?",
            (json.dumps(lore_id), limit),
        )
    return [_surfaced(lore_id, *row) for row in rows]


def _surfaced(
    lore_id: str, at: float, session: str, query: str, strategy: str, strength: str, ids: str, scores: str
) -> Surfaced:
    shown = json.loads(ids)
    rank = shown.index(lore_id)
    return Surfaced(at, session, query, strategy, strength, rank + 1, len(shown), json.loads(scores)[rank])
