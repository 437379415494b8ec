"""The queries in the activity log that an entry answered lately."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.lookup.resolve import resolve

if TYPE_CHECKING:
    from engram.adapters.state.activity_table import ActivityLine
    from engram.usecases.store.store import Store


class Surfaced(NamedTuple):
    """A query that an entry answered `at` a time (Unix seconds): its `rank` (1 is best) of the `shown`, and its score.

    `strength` is that of the whole answer.
    """

    at: float
    session: str
    query: str
    strategy: str
    strength: str
    rank: int
    shown: int
    score: float


def list_recalls(store: Store, name: str, limit: int = 20) -> list[Surfaced]:
    """Return the last queries that an entry answered, newest first. Raises NotFoundError, AmbiguousError, StoreError."""
    with store.lock:
        lore_id = resolve(store, name).id
        entries = store.session_state.live.answered(lore_id, limit)
    return [_recall_of(lore_id, entry) for entry in entries]


def _recall_of(lore_id: str, entry: ActivityLine) -> Surfaced:
    rank = entry.ids.index(lore_id)
    return Surfaced(
        entry.at, entry.session, entry.query, entry.strategy, entry.strength, rank + 1, len(entry.ids), entry.scores[rank]
    )  # fmt: skip
