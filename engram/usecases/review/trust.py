"""Lore that waits for a person: what it is, letting it count, turning it down."""

from __future__ import annotations

from engram.domain.admission import trust
from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.index_query import consult
from engram.usecases.lookup.resolve import resolve
from engram.usecases.recording.edit import Edit, edit
from engram.usecases.recording.forget import forget
from engram.usecases.store import entry_writer
from engram.usecases.store.signature_state import signatures_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.generation import Generation
    from engram.adapters.state.trust_tables import QuarantinedText
    from engram.domain.admission.trust import Signature
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_AT_ONCE = 500


class Waiting(NamedTuple):
    """A held lore: where it is, the commit that brought its text ("" unknown) and its signature, why it waits, since when.

    `at` is in Unix seconds.
    """

    lore: Lore
    path: str
    commit: str
    signature: Signature | None
    why: str
    at: float


def held(store: Store) -> list[Waiting]:
    """All lore that waits, the latest first. Raises StoreError."""
    with store.lock:
        pairs = _held_hits(store)
    known = signatures_of(store, [row.commit for row, _ in pairs if row.commit])
    found = []
    for row, hit in pairs:
        try:
            lore = entry_writer.load(store, hit.path).lore
        except EngramError:
            continue
        found.append(Waiting(lore, hit.path, row.commit, known.get(row.commit), row.why, row.at))
    return found


def count(store: Store) -> int:
    """How many lore wait; reads no lore file."""
    return len(_held_hits(store))


def accept(store: Store, names: Sequence[str], *, everything: bool = False) -> list[Waiting]:
    """Let held lore count with the text that they have now. Raises NotFoundError for one that is not held."""
    chosen = _chosen(store, names, everything)
    from engram.usecases.store.lore_text import searchable, text_digest

    store.state.trust.release((one.lore.id, text_digest(searchable(one.lore))) for one in chosen)
    for one in chosen:
        credit.confirm(store, one.lore)
    return chosen


def reject(
    store: Store, names: Sequence[str], *, everything: bool = False, delete: bool = False
) -> list[Waiting]:
    """Archive held lore (or delete them), for everyone with the next sync. Raises as `accept`, and StoreError."""
    chosen = _chosen(store, names, everything)
    if delete:
        forget(store, [one.lore.id for one in chosen])
        return chosen
    for one in chosen:
        edit(store, one.lore.id, Edit(status="archived"))
    return chosen


def _chosen(store: Store, names: Sequence[str], everything: bool) -> list[Waiting]:
    if everything == bool(names):
        raise UsageError("Name the lore that are meant, or all of them.", "engram trust list")
    waiting = {one.lore.id: one for one in held(store)}
    if everything:
        return list(waiting.values())
    ids = []
    for name in names:
        with store.lock:
            found = resolve(store, name).id
        if found not in waiting:
            raise NotFoundError(f"{found} is not held.", "`engram trust list` shows what is.")
        ids.append(found)
    return [waiting[lore_id] for lore_id in dict.fromkeys(ids)]


def _held_hits(store: Store) -> list[tuple[QuarantinedText, Hit]]:
    """What is held, with the catalog's line of it: active lore that have just that text now."""
    if store.settings.text("trust.hold") == trust.NONE:
        return []
    rows = store.state.trust.rows()
    if not rows:
        return []
    ids = sorted({row.id for row in rows})

    def ask(generation: Generation) -> list[Hit]:
        parts = (ids[at : at + _AT_ONCE] for at in range(0, len(ids), _AT_ONCE))
        return [
            hit
            for part in parts
            for hit in generation.catalog.select(
                f"status = 'active' AND id IN ({','.join('?' * len(part))})", part
            )
        ]

    hits = {(hit.id, hit.text_digest): hit for hit in consult(store, ask)}
    return [(row, hits[row.id, row.digest]) for row in rows if (row.id, row.digest) in hits]
