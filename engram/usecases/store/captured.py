"""Captured entries: found by hooks, unconfirmed and private to this clone. They expire unless a person accepts them."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import datetime, timedelta

from engram.adapters.files.frontmatter import codec
from engram.adapters.state.captured_table import CapturedTable
from engram.domain.entry.lore import PENDING, Lore, words_mark
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

DAYS = 14
MOST = 100
ORIGIN = "captured"
OUTCOME = "tool-outcome"  # the tag of the outcome of a tool, which is no lesson and needs no decision
CONTEXT = "captured at "  # begins the context line that names the event
ASKED = "Asked: "  # begins the line with the prompts before it, which stays when a person accepts the entry


def keep(store: Store, lore: Lore) -> Lore:
    """Keep an entry as pending for 14 days, and return it in that form. Raises StoreError."""
    expires = (store.clock.now() + timedelta(days=DAYS)).replace(microsecond=0)
    kept = lore._replace(status=PENDING, expires_at=expires)
    raw = codec.write_new(kept, store.categories).decode()
    CapturedTable(store.state).add(kept.id, raw, expires.timestamp(), MOST)
    return kept


def list_captured(store: Store) -> list[Lore]:
    """Return the captured entries that have not expired, newest first; none if the state cannot be read."""
    now = store.clock.now()
    try:
        rows = CapturedTable(store.state).rows(now.timestamp())
    except (EngramError, OSError, sqlite3.Error):
        return []
    found = []
    for lore_id, raw in rows:
        try:
            lore = codec.read(raw.encode(), f"{lore_id}.md", store.categories, now).lore
        except EngramError:
            continue  # for example, its category no longer exists
        if lore.id == lore_id:
            found.append(lore)
    return found


def is_outcome(lore: Lore) -> bool:
    """Return whether a captured entry is the outcome of a tool, not a lesson."""
    return OUTCOME in lore.tags


def lessons(store: Store) -> list[Lore]:
    """Return the captured entries that a person may decide about, newest first."""
    return [lore for lore in list_captured(store) if not is_outcome(lore)]


def find(store: Store, lore_id: str) -> Lore | None:
    """Return the captured entry with an id, or None."""
    return next((lore for lore in list_captured(store) if lore.id == lore_id), None)


def drop(store: Store, lore_id: str) -> bool:
    """Delete a captured entry; return False if there was none. Raises StoreError."""
    return CapturedTable(store.state).remove(lore_id)


def drop_same(store: Store, recorded: Sequence[Lore]) -> None:
    """Delete the captured entries whose text was just recorded."""
    if not store.state.exists:  # do not create a database for this
        return
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        found = list_captured(store)
        marks = {words_mark(lore.content) for lore in recorded} if found else set()
        for lore in found:
            if words_mark(lore.content) in marks:
                drop(store, lore.id)


def describe_age(lore: Lore, now: datetime) -> str:
    """Return when an entry was captured, in words: `captured yesterday`."""
    days = (now - lore.created_at).days
    return f"captured {'today' if days < 1 else 'yesterday' if days == 1 else f'{days} days ago'}"
