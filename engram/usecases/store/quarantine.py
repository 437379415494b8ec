"""Texts of entries that are quarantined in this clone, and lists without them."""

from __future__ import annotations

import contextlib
import sqlite3

from engram.domain.admission.trust import NONE
from engram.domain.entry.lore import ACTIVE, Lore, searchable, text_digest
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import TypeVar

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.graph_rows import LoreRow
    from engram.usecases.store.store import Store

    Row = TypeVar("Row", Hit, LoreRow)


def quarantined_texts(store: Store, *, whole: bool = False) -> Mapping[str, Collection[str] | None]:
    """Return the digests of quarantined texts by entry id; with `whole`, None in their place: every text of the entry."""
    if store.settings.text("trust.hold") == NONE:
        return {}
    found = store.state.trust.quarantined()
    return dict.fromkeys(found) if whole else found


def is_quarantined(store: Store, lore: Lore) -> bool:
    """Return whether the current text of an entry is quarantined."""
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        return in_quarantine(quarantined_texts(store), lore)
    return False


def in_quarantine(quarantined: Mapping[str, Collection[str] | None], lore: Lore) -> bool:
    """Return whether the current text of an entry is among `quarantined`, the result of `quarantined_texts`."""
    if lore.id not in quarantined:
        return False
    digests = quarantined[lore.id]
    return digests is None or text_digest(searchable(lore)) in digests


def without_quarantined(store: Store, rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the index whose text is not quarantined."""
    found = quarantined_texts(store)
    return [row for row in rows if row.id not in found or row.text_digest not in (found[row.id] or ())]


def load_active(store: Store, paths: Sequence[str]) -> list[Lore]:
    """Read the active entries at these paths, skipping unreadable and quarantined ones."""
    from engram.usecases.store import entry_writer

    found, quarantined = [], quarantined_texts(store)
    for path in paths:
        file = entry_writer.load_readable(store, path)
        if file is not None and file.lore.status == ACTIVE and not in_quarantine(quarantined, file.lore):
            found.append(file.lore)
    return found
