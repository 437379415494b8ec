"""Quarantine of what comes with a store that is new here, by a clone or with a repository's branch."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def quarantine_all(root: str) -> None:
    """Quarantine what the person's settings say, before anything of the store is recalled.

    Raises GitError, StoreError, ConfigError.
    """
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller

    store = open_store(root, Caller("clone", ""))
    try:
        _quarantine(store)
    finally:
        store.close()


def _quarantine(store: Store) -> None:
    from engram.adapters.git.read.differences import differences
    from engram.adapters.git.run.layout import read_head
    from engram.usecases.admission.incoming_quarantine import quarantine_incoming, record_arrivals

    repo = store.repository
    head = read_head(repo).oid
    if head is not None:
        changes = differences(repo, None, head)
        quarantine_incoming(store, None, head, changes, {})
        record_arrivals(store, None, head, changes, {})
