"""Forget entries: delete their files; git, if there is a repository, keeps their history."""

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
    """Delete the named entries and return them; all names are resolved before the first file is deleted.

    With a `digest`, an entry is deleted only if its file has that, else StaleError is raised. Also raises NotFoundError,
    AmbiguousError, NotAllowedError, ConflictError.
    """
    with store.lock:
        deleted = []
        planned: dict[str, tuple[Store, list[Operation]]] = {}
        for found in get_many(store, names):
            home = found.store
            entry_writer.check_writable(home)
            file = entry_writer.load(home, found.path)
            entry_writer.check_allowed(home, "forget", file.lore.category)
            entry_writer.check_digest(file, digest)
            current = atomic.digest(file.raw)
            deleted.append(Shown(file.lore, found.path, found.ref, home.places.scope, current))
            deletion = Change(found.path, None, current)
            operation = entry_writer.operation_for(home, file.lore, f"forget: {file.lore.title}", [deletion])
            planned.setdefault(home.places.scope, (home, []))[1].append(operation)
        for home, operations in planned.values():
            entry_writer.write(home, operations)
        activity_log.note(store, "forget", ids=[entry.lore.id for entry in deleted])
        return deleted
