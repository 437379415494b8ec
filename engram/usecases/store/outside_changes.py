"""List files changed without Engram, for the committer."""

from __future__ import annotations

import contextlib

from engram.adapters.files.durable import atomic
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store


def record_outside_changes(store: Store, paths: Sequence[str]) -> None:
    """Add files that were changed without Engram to the committer's list.

    If the write journal cannot be read, nobody knows whose changes they are: all are listed, the store is degraded, and
    the committer waits until the journal is repaired.
    """
    try:
        operations = store.files.journal.waiting()
    except StoreError as error:
        operations = []
        note = f"{error.message} {error.hint}"
        store.degraded[:] = [*[other for other in store.degraded if other != note], note]
    waiting = {change.path: change for operation in operations for change in operation.changes}
    own = {
        path
        for path, change in waiting.items()
        if atomic.holds(
            store.files.absolute(path), None if change.content is None else atomic.digest(change.content)
        )
    }
    lines = "".join(f"{path}\n" for path in paths if path not in own and "\n" not in path)
    if not lines:
        return
    with (
        contextlib.suppress(OSError),
        open(store.outside_path, "a", encoding="utf-8", errors="surrogateescape") as file,
    ):
        file.write(lines)
