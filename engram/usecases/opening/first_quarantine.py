"""Quarantine lore of a store that is new here, from a clone or from checking out a repository's branch."""

from __future__ import annotations


def quarantine_new_store(root: str) -> None:
    """Quarantine the lore of the store at `root` as the user's settings require, before any of it is recalled.

    Raises GitError, StoreError, ConfigError.
    """
    from contextlib import closing

    from engram.adapters.git.read.differences import differences
    from engram.adapters.git.run.layout import read_head
    from engram.usecases.admission.incoming_quarantine import quarantine_incoming, record_arrivals
    from engram.usecases.opening.store_layout import locate_root, make_store
    from engram.usecases.store.store import Caller, Clock

    with closing(make_store(locate_root(root), Clock(), Caller("clone", ""))) as store:
        store.files.recover()
        repo = store.repository
        head = read_head(repo).oid
        if head is not None:
            changes = differences(repo, None, head)
            quarantine_incoming(store, None, head, changes, {})
            record_arrivals(store, None, head, changes, {})
