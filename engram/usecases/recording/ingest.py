"""Recording many entries at once, each on its own: what was accepted, what the store has already, what was refused and why."""

from __future__ import annotations

from engram.domain.errors import ConflictError, EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import consult
from engram.usecases.opening import scopes
from engram.usecases.recording.record import KNOWN, Draft, Recorded, check_id, record, tidy
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from engram.usecases.similarity.near_duplicates import Similar
    from engram.usecases.store.store import Store

ACCEPTED, MERGED, REJECTED = "accepted", "merged", "rejected"
_AT_ONCE = 400  # ids in a question to the index


class Ingested(NamedTuple):
    """What became of one draft: `accepted` as a new entry, `merged` into the entry `id`, or `rejected` with an error."""

    outcome: str
    id: str = ""
    path: str = ""
    similar: tuple[Similar, ...] = ()
    pending: str = ""
    scope: str = ""
    error: EngramError | None = None


class _Ids(NamedTuple):
    """Of the ids that the drafts of a scope have: where entries of them are, and which were deleted, in its store."""

    store: Store
    here: dict[str, str]
    gone: Collection[str]


def ingest(store: Store, drafts: Sequence[Draft]) -> list[Ingested]:
    """Record each draft; one that is refused stops no other. The same again changes nothing. Raises StoreError."""
    with store.lock:
        known: dict[str, _Ids] = {}
        return [_ingest(store, draft, drafts, known) for draft in drafts]


def _ingest(store: Store, draft: Draft, drafts: Sequence[Draft], known: dict[str, _Ids]) -> Ingested:
    try:
        if not draft.id:
            return _outcome_of(record(store, draft))
        lore_id = check_id(store, draft.id)
        if draft.scope not in known:
            ids = [one.id.upper() for one in drafts if one.id and one.scope == draft.scope]
            known[draft.scope] = _ids(scopes.reach(store, draft.scope, make=True), ids)
        home, here, gone = known[draft.scope]
        if lore_id in here:
            return _accept_resent(home, draft, lore_id, here[lore_id])
        if lore_id in gone:
            raise ConflictError(f"{lore_id} was deleted here.", "Send it without its id to record it anew.")
        done = record(store, draft)
        here[lore_id] = done.path
    except EngramError as error:
        return Ingested(REJECTED, error=error)
    return _outcome_of(done)


def _ids(store: Store, ids: Sequence[str]) -> _Ids:
    found = dict[str, str]()
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        where = f"id IN ({','.join('?' * len(some))})"
        hits = consult(store, lambda one: one.catalog.select(where, some), thorough=not start)  # noqa: B023 - at once
        found |= {hit.id: hit.path for hit in hits}
    gone = {lore_id for lore_id, _ in store.state.tombstones.all()} if len(found) < len(set(ids)) else ()
    return _Ids(store, found, gone)


def _accept_resent(store: Store, draft: Draft, lore_id: str, path: str) -> Ingested:
    """Return what becomes of an entry whose id is here. Raises ConflictError where it says something else."""
    there = entry_writer.load(store, path).lore
    if lore_id in there.merged_from or there.content == tidy(draft.content):
        return Ingested(MERGED, there.id, path)
    raise ConflictError(
        f"{lore_id} exists with another text.",
        f"PUT /lore/{lore_id} replaces it; without an id it is another entry.",
    )


def _outcome_of(done: Recorded) -> Ingested:
    outcome = MERGED if done.status == KNOWN else ACCEPTED
    return Ingested(outcome, done.lore.id, done.path, done.similar, done.why, done.scope)
