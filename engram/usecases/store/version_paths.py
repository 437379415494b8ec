"""Convert between paths in git and in the store, and read the entry of a version."""

from __future__ import annotations

import os

from engram.domain.errors import EngramError, StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store


def repository_of(store: Store) -> Repository:
    """Return the store's repository. Raises StoreError for a store outside git."""
    if store.places.repository is None:
        raise StoreError(
            "This store is a folder outside git, so it has no history.", "Run `git init` there to start one."
        )
    return store.places.repository


def git_prefix(root: str, repository: Repository) -> str:
    """Return the prefix of store paths in git: "" if the store is at the top of the repository, else ending in `/`."""
    below = os.path.relpath(os.path.realpath(root), os.path.realpath(repository.worktree))
    return "" if below == "." else below.replace(os.sep, "/") + "/"


def in_git(store: Store, path: str) -> str:
    """Convert a store path to git's: relative to the work tree, which may be above the store."""
    top = os.path.realpath(repository_of(store).worktree)
    full = os.path.realpath(store.files.absolute(path) if path else store.places.root)
    return os.path.relpath(full, top).replace(os.sep, "/")


def in_store(store: Store, name: str) -> str:
    """Convert a path of git's to the store path."""
    top = os.path.realpath(repository_of(store).worktree)
    below = os.path.relpath(os.path.join(top, *name.split("/")), os.path.realpath(store.places.root))
    return below.replace(os.sep, "/")


def read_lore(store: Store, path: str, raw: bytes | None) -> LoreFile | None:
    """Parse a version of an entry file; None if there is none or it is invalid."""
    if raw is None:
        return None
    from engram.adapters.files.frontmatter import codec

    try:
        if store.places.folder or store.places.repository is None:
            return codec.read(raw, path, store.categories, store.clock.now(), store.parsed)
        path = in_store(store, path)
        first = store.first_seen(path)
        return codec.read(raw, path, store.categories, store.clock.now(), store.parsed, first)
    except EngramError:
        return None
