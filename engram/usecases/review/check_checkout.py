"""Opening a checkout that nobody works in, such as one of a server that checks pull requests, without leaving a trace.

Index and state are in a temporary folder, and nothing is written into the checkout or its git folder. What the store's
file says about where lore is and which secrets are let through counts as it was before the change that is checked.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from engram.adapters.files import places
from engram.adapters.files.durable.write import LoreFolder
from engram.adapters.git.run.layout import find_repository
from engram.domain.errors import NotFoundError
from engram.domain.scopes import PROJECT
from engram.domain.settings import Settings
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.opening.store_layout import enclosing_store, state_folder
from engram.usecases.review.check import fork_of
from engram.usecases.store.accepted_settings import accept_before, in_force
from engram.usecases.store.clock import Clock
from engram.usecases.store.store import IN_TREE, PLAIN, Places, Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Caller


class _Untouched(LoreFolder):
    """A lore folder in which leftovers of other processes stay: their locks are not the ones that this one knows."""

    def sweep(self, temporaries: Sequence[str]) -> None:
        """Leave them."""


def has_index(start: str) -> bool:
    """Whether the store of a path is in a repository that has an index of it already."""
    root = enclosing_store(start)
    repository = find_repository(root) if root is not None else None
    return (
        root is not None
        and repository is not None
        and os.path.isdir(os.path.join(state_folder(root, repository), "index"))
    )


@contextmanager
def open_checkout(start: str, caller: Caller, since: str = "") -> Iterator[Store]:
    """The store at or above `start`, for reading. Raises NotFoundError, ConfigError, StoreError, GitError."""
    import tempfile

    root = enclosing_store(start)
    if root is None:
        raise NotFoundError(f"There is no store at {start} or above it.", "Make one: engram init")
    repository = find_repository(root)
    with tempfile.TemporaryDirectory(prefix="engram-check-", ignore_cleanup_errors=True) as state:
        base = fork_of(repository, since) if repository is not None and since else ""
        if repository is not None and base:
            _accept_what_was(root, repository, state, base)
        settings = in_force(root, state if repository is not None else None)
        values = Settings({**settings.settings.items(), "embedding.provider": "bundled"})
        placement = PLAIN if repository is None else IN_TREE
        where = Places(root, values.text("store.folder"), state, placement, PROJECT, repository)
        store = Store(where, values, Clock(), caller)
        store.files = _Untouched(root, state, journaled=False)
        store.held_back, store.notes = settings.held_back, settings.trouble
        try:
            yield store
        finally:
            store.close()


def _accept_what_was(root: str, repository: Repository, state: str, commit: str) -> None:
    """Have the settings of a commit be those that this clone has accepted."""
    from engram.adapters.git.read.versions import read_objects

    below = os.path.relpath(os.path.realpath(root), os.path.realpath(repository.worktree))
    name = places.CONFIG_NAME if below == "." else f"{below.replace(os.sep, '/')}/{places.CONFIG_NAME}"
    accept_before(root, state, read_objects(repository, [f"{commit}:{name}"])[0])
