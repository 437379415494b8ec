"""Recording many entries at once, each on its own: what was accepted, what the store has already, what was refused and why."""

from __future__ import annotations

from engram.domain.errors import ConflictError, EngramError
from engram.domain.similarity.deduplicate import fold, may_fold, sources_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import consult
from engram.usecases.recording.admission_policy import Admission
from engram.usecases.recording.record import merge_into, prepare, record
from engram.usecases.similarity.near_duplicates import similar
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.recording.record import Draft, Recorded
    from engram.usecases.similarity.near_duplicates import Similar
    from engram.usecases.store.store import Store

ACCEPTED, MERGED, REJECTED = "accepted", "merged", "rejected"
_AT_ONCE = 400  # ids in a question to the index


class Ingested(NamedTuple):
    """What became of one draft: `accepted` as a new entry, `merged` into the lore `id`, or `rejected` with an error."""

    outcome: str
    id: str = ""
    path: str = ""
    similar: tuple[Similar, ...] = ()
    pending: str = ""
    error: EngramError | None = None


def ingest(store: Store, drafts: Sequence[Draft]) -> list[Ingested]:
    """Record each draft; one that is refused stops no other. The same again changes nothing. Raises StoreError."""
    with store.lock:
        here = _paths(store, [draft.id.upper() for draft in drafts if draft.id])
        gone = dict(store.state.tombstones.all()) if len(here) < sum(bool(one.id) for one in drafts) else {}
        return [_ingest(store, draft, here, gone) for draft in drafts]


def _ingest(store: Store, draft: Draft, here: dict[str, str], gone: Mapping[str, float]) -> Ingested:
    try:
        lore, _ = prepare(store, draft)
        if draft.id and lore.id in here:
            return _sent_again(store, lore, here[lore.id])
        if draft.id and lore.id in gone:
            raise ConflictError(f"{lore.id} was deleted here.", "Send it without its id to record it anew.")
        twin = _same(store, lore)
        if twin is not None:
            _confirm(store, lore, twin.path)
            return Ingested(MERGED, twin.id, twin.path)
        done = _ingested(record(store, draft))
    except EngramError as error:
        return Ingested(REJECTED, error=error)
    if draft.id:
        here[lore.id] = done.path
    return done


def _paths(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """Return where the entries are that have these ids."""
    found = dict[str, str]()
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        where = f"id IN ({','.join('?' * len(some))})"
        hits = consult(store, lambda one: one.catalog.select(where, some), thorough=not start)  # noqa: B023 - at once
        found |= {hit.id: hit.path for hit in hits}
    return found


def _sent_again(store: Store, lore: Lore, path: str) -> Ingested:
    """Return what becomes of an entry whose id is here. Raises ConflictError where it says something else."""
    there = entry_writer.load(store, path).lore
    if lore.id in there.merged_from or (there.content, there.category) == (lore.content, lore.category):
        return Ingested(MERGED, there.id, path)
    raise ConflictError(
        f"{lore.id} is here and says something else.",
        f"PUT /lore/{lore.id} replaces it, a new id records another.",
    )


def _confirm(store: Store, lore: Lore, path: str) -> None:
    """Have the entry at this path take in what a client says that is no source of it yet: it is confirmed by that."""
    file = entry_writer.load(store, path)
    if lore.sources and not {*lore.sources} & {*sources_of(file.lore)} and may_fold(file.lore, lore):
        merge_into(store, lore, Admission(lore.status, "", path, file, fold(file.lore, lore)))


def _ingested(done: Recorded) -> Ingested:
    outcome = MERGED if done.status == "merged" else ACCEPTED
    return Ingested(outcome, done.lore.id, done.path, done.similar, done.why)


def _same(store: Store, lore: Lore) -> Similar | None:
    """Return the lore of the same category whose text is the same to the letter."""
    for twin in similar(store, lore):
        try:
            there = entry_writer.load(store, twin.path).lore
        except EngramError:
            continue
        if there.id == twin.id and (there.content, there.category) == (lore.content, lore.category):
            return twin
    return None
