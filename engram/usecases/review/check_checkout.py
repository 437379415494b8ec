"""Open a checkout for a check, such as that of a pull request on a server, without writing to it.

Index and state are in a temporary folder. Settings in the store's file that need a person's approval are read as of
before the change under check.
"""

from __future__ import annotations

import os
from contextlib import closing, contextmanager

from engram.adapters.files import places
from engram.adapters.files.durable.write import LoreFolder
from engram.adapters.git.run.layout import Repository, find_repository
from engram.domain.entry.named_files import lore_folder
from engram.domain.errors import NotFoundError
from engram.domain.scopes import PROJECT
from engram.domain.settings import Settings
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.opening.store_layout import enclosing_store, state_folder
from engram.usecases.review.check import merge_base
from engram.usecases.store.accepted_settings import accept_before, in_force
from engram.usecases.store.store import IN_TREE, PLAIN, Caller, Clock, Places, Store
from engram.usecases.store.version_paths import git_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class _Untouched(LoreFolder):
    """A lore folder whose temporary files are left alone: they may belong to processes that use other locks."""

    def sweep(self, temporaries: Sequence[str]) -> None:
        """Do nothing."""


def has_index(start: str) -> bool:
    """Whether the store at or above a path already has an index in its repository."""
    root = enclosing_store(start)
    repository = find_repository(root) if root is not None else None
    return (
        root is not None
        and repository is not None
        and os.path.isdir(os.path.join(state_folder(root, repository), "index"))
    )


@contextmanager
def open_checkout(start: str, caller: Caller, since: str = "") -> Iterator[Store]:
    """Open the store at or above `start` for reading. Raises NotFoundError, ConfigError, StoreError, GitError."""
    import tempfile

    root = enclosing_store(start)
    if root is None:
        raise NotFoundError(f"There is no store at {start} or above it.", "Create one: engram init")
    repository = find_repository(root)
    with tempfile.TemporaryDirectory(prefix="engram-check-", ignore_cleanup_errors=True) as state:
        base = merge_base(repository, since) if repository is not None and since else ""
        if repository is not None and base:
            _accept_settings_of(root, repository, state, base)
        settings = in_force(root, state if repository is not None else None)
        values = Settings({**settings.settings.items(), "embedding.provider": "bundled"})
        placement = PLAIN if repository is None else IN_TREE
        where = Places(root, lore_folder(values.text("store.folder")), state, placement, PROJECT, repository)
        store = Store(where, values, Clock(), caller)
        store.files = _Untouched(root, state, journaled=False)
        store.held_back, store.notes = settings.held_back, settings.trouble
        with closing(store):
            yield store


def _accept_settings_of(root: str, repository: Repository, state: str, commit: str) -> None:
    """Accept the settings of a commit, in the temporary state."""
    from engram.adapters.git.read.versions import read_objects

    name = git_prefix(root, repository) + places.CONFIG_NAME
    accept_before(root, state, read_objects(repository, [f"{commit}:{name}"])[0])
