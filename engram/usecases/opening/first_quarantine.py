"""Lore that comes with a store that is new here, by clone or by taking a repository's branch: what of it is held."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def weigh_all(root: str) -> None:
    """Hold what the person's settings say. The store is nobody's yet, so nothing of it was recalled before.

    Raises GitError, StoreError, ConfigError.
    """
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller

    store = open_store(root, Caller("clone", ""))
    try:
        _weigh(store)
    finally:
        store.close()


def _weigh(store: Store) -> None:
    from engram.adapters.git.read.differences import differences
    from engram.adapters.git.run.layout import read_head
    from engram.usecases.admission.incoming_quarantine import note, weigh

    repo = store.repository
    head = read_head(repo).oid
    if head is not None:
        changes = differences(repo, None, head)
        weigh(store, None, head, changes, {})
        note(store, None, head, changes, {})
