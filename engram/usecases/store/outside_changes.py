"""Files that were changed without Engram, recorded for the committer."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store


def record_outside_changes(store: Store, paths: Sequence[str]) -> None:
    """Remember files that somebody changed without Engram, for the committer to look at.

    Where the write journal cannot be read, nobody knows whose changes they are: all are remembered, the store is
    degraded, and the committer waits until the journal is mended.
    """
    try:
        operations = store.files.journal.waiting()
    except StoreError as error:
        operations = []
        note = f"{error.message} {error.hint}"
        store.degraded[:] = [*[one for one in store.degraded if one != note], note]
    waiting = {change.path: change for operation in operations for change in operation.changes}
    mine = {
        path
        for path, change in waiting.items()
        if atomic.holds(
            store.files.absolute(path), None if change.content is None else atomic.digest(change.content)
        )
    }
    lines = "".join(f"{path}\n" for path in paths if path not in mine and "\n" not in path)
    if not lines:
        return
    try:
        with open(store.outside_path, "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(lines)
    except OSError:
        return
