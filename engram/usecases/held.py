"""Which texts of lore wait for a person, as far as this clone's settings have anything wait."""

from __future__ import annotations

import contextlib
import sqlite3

from engram.domain.errors import StoreError
from engram.domain.trust import NONE
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engram.domain.lore import Lore
    from engram.usecases.store import Store


def texts(store: Store, *, whole: bool = False) -> Mapping[str, Collection[str] | None]:
    """The digests of the texts that wait, by lore id; with `whole` every text of these lore waits (None)."""
    if store.settings.text("trust.hold") == NONE:
        return {}
    found = store.state.trust.held()
    return dict.fromkeys(found) if whole else found


def is_held(store: Store, lore: Lore) -> bool:
    """Whether a lore waits with the text that it has now."""
    found: Mapping[str, Collection[str] | None] = {}
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        found = texts(store)
    if lore.id not in found:
        return False
    from engram.usecases.indexing import searchable, text_digest

    return text_digest(searchable(lore)) in (found[lore.id] or ())
