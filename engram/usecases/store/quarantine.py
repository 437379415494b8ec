"""Quarantine: which texts of entries wait for a person, by the settings of this clone, and lore without them."""

from __future__ import annotations

import contextlib
import sqlite3

from engram.domain.admission.trust import NONE
from engram.domain.entry.lore import ACTIVE
from engram.domain.errors import EngramError, StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


def texts(store: Store, *, whole: bool = False) -> Mapping[str, Collection[str] | None]:
    """Return the digests of quarantined texts by id; with `whole` every text of these entries counts (None)."""
    if store.settings.text("trust.hold") == NONE:
        return {}
    found = store.state.trust.quarantined()
    return dict.fromkeys(found) if whole else found


def is_quarantined(store: Store, lore: Lore) -> bool:
    """Return whether the present text of an entry is quarantined."""
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        return waits(texts(store), lore)
    return False


def waits(held: Mapping[str, Collection[str] | None], lore: Lore) -> bool:
    """Return whether the present text of an entry is among those that `texts` returned."""
    if lore.id not in held:
        return False
    from engram.usecases.store.lore_text import searchable, text_digest

    digests = held[lore.id]
    return digests is None or text_digest(searchable(lore)) in digests


def without_quarantined(store: Store, hits: Iterable[Hit]) -> list[Hit]:
    """Return the rows of the catalog whose texts are not quarantined."""
    held = texts(store)
    return [hit for hit in hits if hit.id not in held or hit.text_digest not in (held[hit.id] or ())]


def loaded(store: Store, paths: Sequence[str]) -> list[Lore]:
    """Return the active entries at these paths, read from their files; without unreadable and quarantined ones."""
    from engram.usecases.store import entry_writer

    found, held = [], texts(store)
    for path in paths:
        try:
            lore = entry_writer.load(store, path).lore
        except EngramError:
            continue
        if lore.status == ACTIVE and not waits(held, lore):
            found.append(lore)
    return found
