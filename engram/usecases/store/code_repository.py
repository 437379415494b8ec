"""The code repository that the lore of a store is about, and the paths of its files."""

from __future__ import annotations

import os
import posixpath

from engram.adapters.git.run.layout import Repository, find_repository
from engram.adapters.git.write import lore_branch
from engram.domain.scopes import USER
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.store import BRANCH, IN_TREE, Store

if TYPE_CHECKING:
    from collections.abc import Sequence


def code_repository(store: Store) -> Repository | None:
    """Return the repository whose files the entries name, or None if it is not known.

    In-tree and on a branch it is the store's own. For any other store it is `stale.repository`, else that of the
    working folder; the user's own store is about many repositories, so only the setting counts for it.
    """
    if store.places.placement == IN_TREE:
        return store.places.repository
    around = find_repository(os.getcwd())
    own = store.places.repository
    if store.places.placement == BRANCH and own is not None:
        if around is not None and around.common_dir == own.common_dir and not lore_branch.is_hidden(around):
            return around
        return find_repository(lore_branch.top_of(own))
    configured = store.settings.text("stale.repository")
    if configured:
        return find_repository(os.path.expanduser(configured))
    if around is None or store.places.scope == USER or (own and own.common_dir == around.common_dir):
        return None
    return around


def prefix_of(store: Store, repository: Repository) -> str:
    """Return the folder of an in-tree store relative to the top of its repository; "" for the top, and for other stores."""
    below = _relative_path(repository, store.places.root) if store.places.placement == IN_TREE else ""
    return "" if below == "." else below


def candidate_paths(repository: Repository, prefix: str, file: str) -> list[str]:
    """Return the paths that an entry may mean by `file`: relative to the repository's top, then to the store."""
    name = _relative_path(repository, file) if os.path.isabs(file) else file.replace("\\", "/").split(":")[0]
    name = posixpath.normpath(name) if name else ""
    if name in ("", ".", "..") or name.startswith(("../", "/")):
        return []
    return [name, f"{prefix}/{name}"] if prefix else [name]


def relative_to_top(working: str, files: Sequence[str]) -> list[str]:
    """Return files relative to the top of the repository around the folder `working`, without files outside of it."""
    if not working:
        return []
    repository = find_repository(working)
    top = os.path.realpath(working if repository is None else repository.worktree)
    below = [os.path.relpath(os.path.realpath(os.path.join(working, file)), top) for file in files]
    return [path.replace(os.sep, "/") for path in below if not path.startswith("..")]


def _relative_path(repository: Repository, path: str) -> str:
    """Return a path relative to the top of the repository; "" if it is outside."""
    below = os.path.relpath(os.path.realpath(path), repository.worktree).replace(os.sep, "/")
    return "" if below.startswith("..") else below
