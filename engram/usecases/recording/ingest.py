"""Record many entries, each on its own: it is accepted, merged into an existing entry, or rejected."""

from __future__ import annotations

from engram.domain.errors import ConflictError, EngramError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes
from engram.usecases.recording.record import KNOWN, Draft, Recorded, check_id, normalize_content, record
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from engram.usecases.similarity.near_duplicates import Similar
    from engram.usecases.store.store import Store

ACCEPTED, MERGED, REJECTED = "accepted", "merged", "rejected"
_IDS_PER_QUERY = 400  # of the index


class Ingested(NamedTuple):
    """The outcome of a draft: `accepted` as a new entry, `merged` into the entry `id`, or `rejected` with an error."""

    outcome: str
    id: str = ""
    path: str = ""
    similar: tuple[Similar, ...] = ()
    pending: str = ""
    scope: str = ""
    error: EngramError | None = None


class _Ids(NamedTuple):
    """A scope's store, and for the ids of its drafts: the paths of existing entries, and the ids of deleted ones."""

    store: Store
    paths: dict[str, str]
    deleted: Collection[str]


def ingest(store: Store, drafts: Sequence[Draft]) -> list[Ingested]:
    """Record each draft, even if others are rejected; the same again changes nothing. Raises StoreError."""
    with store.lock:
        known: dict[str, _Ids] = {}
        return [_ingest(store, draft, drafts, known) for draft in drafts]


def _ingest(store: Store, draft: Draft, drafts: Sequence[Draft], known: dict[str, _Ids]) -> Ingested:
    try:
        if not draft.id:
            return _outcome_of(record(store, draft))
        lore_id = check_id(store, draft.id)
        if draft.scope not in known:
            ids = [other.id.upper() for other in drafts if other.id and other.scope == draft.scope]
            known[draft.scope] = _look_up_ids(scopes.open_scope_of(store, draft.scope, make=True), ids)
        home, paths, deleted = known[draft.scope]
        if lore_id in paths:
            return _accept_resent(home, draft, lore_id, paths[lore_id])
        if lore_id in deleted:
            raise ConflictError(f"{lore_id} was deleted here.", "Send it without its id to record it anew.")
        done = record(store, draft)
        paths[lore_id] = done.path
    except EngramError as error:
        return Ingested(REJECTED, error=error)
    return _outcome_of(done)


def _look_up_ids(store: Store, ids: Sequence[str]) -> _Ids:
    paths = dict[str, str]()
    for start in range(0, len(ids), _IDS_PER_QUERY):
        batch = ids[start : start + _IDS_PER_QUERY]
        where = f"id IN ({','.join('?' * len(batch))})"
        hits = query_index(store, lambda found: found.catalog.select(where, batch), thorough=not start)  # noqa: B023 - at once
        paths |= {hit.id: hit.path for hit in hits}
    deleted = {lore_id for lore_id, _ in store.state.tombstones.all()} if len(paths) < len(set(ids)) else ()
    return _Ids(store, paths, deleted)


def _accept_resent(store: Store, draft: Draft, lore_id: str, path: str) -> Ingested:
    """Return the outcome of a draft whose id exists here. Raises ConflictError if the texts differ."""
    existing = entry_writer.load(store, path).lore
    if lore_id in existing.merged_from or existing.content == normalize_content(draft.content):
        return Ingested(MERGED, existing.id, path)
    raise ConflictError(
        f"{lore_id} exists already with a different text.",
        f"PUT /lore/{lore_id} replaces it; without an id it is another entry.",
    )


def _outcome_of(done: Recorded) -> Ingested:
    outcome = MERGED if done.status == KNOWN else ACCEPTED
    return Ingested(outcome, done.lore.id, done.path, done.similar, done.why, done.scope)
