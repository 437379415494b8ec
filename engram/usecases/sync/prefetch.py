"""What of a sync can be done before it is known what comes in: while git fetches."""

from __future__ import annotations

import contextlib

from engram.adapters.files.frontmatter import codec
from engram.adapters.files.merge.merge_canonical import read_ahead
from engram.adapters.git.read.differences import blobs, differences, hold, let_go
from engram.adapters.git.write import tree_edit
from engram.domain.entry.categories import Categories
from engram.domain.errors import EngramError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission.outgoing_secrets import check_outgoing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engram.adapters.git.read.differences import Difference
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

MOST = 2000  # files; what is more is done when it is needed, and tells how far it is


def prepare(store: Store, known: str, head: str) -> Collection[str]:
    """Read what we changed since the commit `known` of the remote; returns the commits in which there is no secret.

    Trouble is left to whoever needs it later.
    """
    repo = store.repository
    with contextlib.suppress(EngramError):
        changed = differences(repo, known, head)
        if 0 < len(changed) <= MOST:
            _read(store, repo, changed)
            tree_edit.read_ahead(repo, head, changed)
            return check_outgoing(store, known, head)
    return ()


def begin() -> None:
    """Keep what is read of lore from now on, until `forget`: what is merged is indexed next."""
    codec.begin_remembering()


def forget() -> None:
    """Let go of what was read and is not needed any more."""
    let_go()
    tree_edit.let_go()
    codec.forget()
    read_ahead((), Categories())


def _read(store: Store, repo: Repository, changed: Mapping[str, Difference]) -> None:
    """The lore that we changed, as they were and as they are: where the remote changed them, too, both are merged."""
    entries = [
        entry
        for path, found in changed.items()
        if sync_plan.is_lore(path, store.places.folder)
        for entry in found
        if entry is not None and entry.mode in sync_plan.REGULAR
    ]
    contents = blobs(repo, (entry.oid for entry in entries))
    hold(contents)
    read_ahead(contents.values(), store.categories)
