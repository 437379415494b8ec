"""List, add and remove the remotes of a dedicated store."""

from __future__ import annotations

import os

from engram.adapters.git.remote import remotes
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.store import DEDICATED, Store

if TYPE_CHECKING:
    from engram.adapters.git.remote.remotes import Remote
    from engram.adapters.git.run.layout import Repository


def list_remotes(store: Store) -> tuple[Remote, ...]:
    """Return the remotes of the store's repository; none outside git."""
    repo = store.places.repository
    return remotes.remotes(repo) if repo else ()


def how_to_add(placement: str) -> str:
    """Return the command that adds a remote to a store of this placement."""
    return f"{'engram' if placement == DEDICATED else 'git'} remote add origin URL"


def add(store: Store, name: str, url: str) -> None:
    """Add a remote; a folder's path may be relative to the working folder. Raises UsageError."""
    local = os.path.expanduser(url)
    remotes.add(_own_repository(store), name, os.path.abspath(local) if os.path.isdir(local) else url)


def remove(store: Store, name: str) -> None:
    """Remove a remote. Raises UsageError."""
    remotes.remove(_own_repository(store), name)


def _own_repository(store: Store) -> Repository:
    if store.places.placement != DEDICATED or store.places.repository is None:
        raise UsageError(
            "This store has no repository of its own, so Engram leaves remotes alone.",
            "In a code repository use `git remote`; `engram init PATH` elsewhere creates a store with its own repository.",
        )
    return store.places.repository
