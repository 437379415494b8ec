"""Forgetting lore: the file goes; git keeps its history where there is one."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change, Operation
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.lookup.listing import Shown, get_many
from engram.usecases.store import activity_log, entry_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store


def forget(store: Store, names: Sequence[str], digest: str = "") -> list[Shown]:
    """Delete the named lore; all names are resolved before the first file goes. Returns what was deleted.

    With a `digest` an entry goes only while that is its file's. Raises StaleError where it is not, NotFoundError,
    AmbiguousError, NotAllowedError, ConflictError.
    """
    with store.lock:
        found = get_many(store, names)
        gone = []
        planned: dict[str, tuple[Store, list[Operation]]] = {}
        for lore in found:
            where = lore.store
            entry_writer.check_writable(where)
            file = entry_writer.load(where, lore.path)
            entry_writer.check_allowed(where, "forget", file.lore.category)
            entry_writer.check_digest(file, digest)
            there = atomic.digest(file.raw)
            gone.append(Shown(file.lore, lore.path, lore.ref, where.places.scope, there))
            deletion = Change(lore.path, None, there)
            operation = entry_writer.operation_for(where, file.lore, f"forget: {file.lore.title}", [deletion])
            planned.setdefault(where.places.scope, (where, []))[1].append(operation)
        for where, operations in planned.values():
            entry_writer.write(where, operations)
        activity_log.note(store, "forget", ids=[one.lore.id for one in gone])
        return gone
