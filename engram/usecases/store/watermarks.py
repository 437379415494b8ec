"""Watermarks: up to which commit something was done, by name, kept in the state folder."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import sync_state

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def read(store: Store, name: str) -> str:
    """Read the commit of a watermark; "" where there is none, or it cannot be a commit."""
    try:
        found = atomic.read(os.path.join(store.places.state, name)).decode("ascii", "replace").strip()
    except EngramError:
        return ""
    return found if found.isalnum() else ""


def write(store: Store, name: str, commit: str) -> None:
    """Write the commit of a watermark, unless it is there already. Raises StoreError."""
    if commit != read(store, name):
        with store.files.lock():
            sync_state.replace(os.path.join(store.places.state, name), commit.encode("ascii"))
