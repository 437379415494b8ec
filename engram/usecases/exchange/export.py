"""Export lore: as JSON and JSON Lines for programs, as unchanged markdown files for people."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.lookup.listing import Shown, list_lore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.store.store import Store

JSON, JSONL, MARKDOWN = FORMATS = ("json", "jsonl", "markdown")


def export_rows(store: Store) -> Iterator[dict[str, object]]:
    """Yield every entry as its JSON, oldest first."""
    for shown in _list_oldest_first(store):
        yield shown.as_dict()


def export_markdown(store: Store, folder: str) -> int:
    """Copy every entry's file, byte for byte, to the same path below `folder`; return their number.

    Raises StoreError if a different file is in the way.
    """
    count = 0
    for shown in _list_oldest_first(store):
        raw = store.files.read(shown.path)
        target = os.path.join(os.path.abspath(folder), *shown.path.split("/"))
        present = atomic.current_digest(target)
        if present is not None and present != atomic.digest(raw):
            raise StoreError(f"{target} exists and differs.", "Export into an empty folder.")
        if present is None:
            atomic.write(target, raw, "export")
        count += 1
    return count


def _list_oldest_first(store: Store) -> tuple[Shown, ...]:
    return tuple(reversed(list_lore(store, limit=None).lore))
