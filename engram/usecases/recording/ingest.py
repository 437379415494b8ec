"""Recording many entries at once, each on its own: what was accepted, what the store has already, what was refused and why."""

from __future__ import annotations

from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.recording.record import KNOWN, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.recording.record import Draft
    from engram.usecases.similarity.near_duplicates import Similar
    from engram.usecases.store.store import Store

ACCEPTED, MERGED, REJECTED = "accepted", "merged", "rejected"


class Ingested(NamedTuple):
    """What became of one draft: `accepted` as a new entry, `merged` into the lore `id`, or `rejected` with an error."""

    outcome: str
    id: str = ""
    path: str = ""
    similar: tuple[Similar, ...] = ()
    pending: str = ""
    scope: str = ""
    error: EngramError | None = None


def ingest(store: Store, drafts: Sequence[Draft]) -> list[Ingested]:
    """Record each draft; one that is refused stops no other. The same text again changes nothing. Raises StoreError."""
    return [_ingest(store, draft) for draft in drafts]


def _ingest(store: Store, draft: Draft) -> Ingested:
    try:
        done = record(store, draft)
    except EngramError as error:
        return Ingested(REJECTED, error=error)
    outcome = MERGED if done.status == KNOWN else ACCEPTED
    return Ingested(outcome, done.lore.id, done.path, done.similar, done.why, done.scope)
