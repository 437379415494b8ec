"""Up to which commit something was done: a name and a commit each, kept in the state folder."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import sync_state

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def noted(store: Store, name: str) -> str:
    """The commit under a name; "" where none is noted, or what is there cannot be one."""
    try:
        found = atomic.read(os.path.join(store.places.state, name)).decode("ascii", "replace").strip()
    except EngramError:
        return ""
    return found if found.isalnum() else ""


def note(store: Store, name: str, commit: str) -> None:
    """Note a commit under a name, unless it is there already. Raises StoreError."""
    if commit != noted(store, name):
        with store.files.lock():
            sync_state.replace(os.path.join(store.places.state, name), commit.encode("ascii"))
