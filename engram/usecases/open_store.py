"""Finding and opening the store that a call is about."""

from __future__ import annotations

import os

from engram.adapters.files import config_file, places
from engram.adapters.git import lore_branch
from engram.adapters.git.layout import common_dir_at, find_repository
from engram.domain.errors import NotFoundError, StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.clock import Clock
from engram.usecases.store import BRANCH, DEDICATED, IN_TREE, PLAIN, Caller, Places, Store

if TYPE_CHECKING:
    from engram.adapters.git.layout import Repository

PROJECT, USER = SCOPES = ("project", "user")
_OWN_FILES = {places.CONFIG_NAME, ".git", ".gitattributes", ".gitignore", ".engram"}


def open_store(
    path: str | None,
    caller: Caller,
    *,
    scope: str = "",
    clock: Clock | None = None,
    working: str | None = None,
) -> Store:
    """Open the store at or above `path`; without one, the enclosing store of `working`, else the user's own.

    `scope` picks one by name: `project` (never the user's own) or `user`. The user's own store is
    made on first use, so that recording works anywhere with no set-up.
    Raises NotFoundError, StoreError, ConfigError.
    """
    clock = clock or Clock()
    root, found_scope = locate(path, scope, working or os.getcwd())
    if root is None:
        root = places.user_store()
        if not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
            from engram.usecases.init import init

            init(root, placement=DEDICATED)
    store = Store(describe(root, found_scope), config_file.load(root), clock, caller)
    store.files.recover()
    return store


def locate(path: str | None, scope: str, working: str) -> tuple[str | None, str]:
    """The root of the store meant (None: the user's own, which may not exist yet) and its scope."""
    if scope and scope not in SCOPES:
        raise UsageError(f"'{scope}' is not a scope.", f"Scopes here: {', '.join(SCOPES)}.")
    if path is not None:
        root = enclosing_store(path)
        if root is None:
            raise NotFoundError(f"There is no store at {path} or above it.", _how_to_have_one(path))
        found = _scope_of(root)
        if scope and scope != found:
            raise UsageError(
                f"{root} is not a {scope} store but a {found} store.", "Name the store or the scope."
            )
        return root, found
    if scope != USER:
        root = enclosing_store(working)
        if root is not None:
            return root, _scope_of(root)
        if scope == PROJECT:
            raise NotFoundError("There is no project store here.", _how_to_have_one(working))
    return None, USER


def enclosing_store(start: str) -> str | None:
    """The root of the store that `start` belongs to, which need not be above it.

    The nearest `.engram.toml` at or above it says so, or the nearest repository, by the branch on which it keeps lore.
    """
    passed: list[str] = []

    def kept_by_repository(folder: str) -> str | None:
        common_dir = None if passed else common_dir_at(folder)
        if common_dir is None:
            return None
        passed.append(
            folder
        )  # what is around a repository, such as the one of which it is a submodule, is not asked
        return (
            lore_branch.root_in(common_dir) if lore_branch.is_kept(common_dir, places.CONFIG_NAME) else None
        )

    return places.enclosing_store(start, kept_by_repository)


def describe(root: str, scope: str) -> Places:
    """Where the store at `root` keeps things; makes its private state folder."""
    repository = find_repository(root)
    if repository is None or not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        repository = _brought_back(root) or repository
    settings = config_file.load(root)
    state = state_folder(root, repository)
    try:
        os.makedirs(state, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The private folder {state} cannot be made: {error.strerror}.", "Check its permissions."
        ) from None
    if repository is None:
        _ignore_state(state)
    folder = settings.text("store.folder")
    placement = placement_of(root, folder, state, settings.text("store.placement"), repository)
    return Places(root, folder, state, placement, scope, repository)


def state_folder(root: str, repository: Repository | None) -> str:
    """Where a store keeps its private state: in the git folder, so that it is never tracked; else in `.engram`."""
    if repository is None:
        return os.path.join(root, ".engram")
    if _is_on_branch(root, repository):
        return lore_branch.state_in(repository.common_dir)
    below = os.path.relpath(os.path.realpath(root), os.path.realpath(repository.worktree))
    base = os.path.join(repository.common_dir, "engram")
    if below == "." and repository.worktree_name == "main":
        return base
    name = below.replace(os.sep, "-").strip(".-") or "top"
    return os.path.join(base, "stores", f"{repository.worktree_name}--{name}")


def placement_of(root: str, folder: str, state: str, configured: str, repository: Repository | None) -> str:
    """`plain` outside git; `branch` and `dedicated` where branch or repository are the store's own; else `in-tree`.

    A pulled configuration alone must not make Engram commit to somebody's branch: a dedicated store
    is one that `engram init` marked on this machine, or a repository that holds nothing but lore.
    """
    if repository is None:
        return PLAIN
    if _is_on_branch(root, repository):
        return BRANCH
    if configured != DEDICATED or os.path.realpath(repository.worktree) != os.path.realpath(root):
        return IN_TREE
    if os.path.exists(os.path.join(state, DEDICATED)) or _holds_only_lore(root, folder):
        return DEDICATED
    return IN_TREE


def _holds_only_lore(root: str, folder: str) -> bool:
    top = folder.split("/", maxsplit=1)[0]
    others = [name for name in os.listdir(root) if name not in _OWN_FILES and name != top]
    return all(name.upper().startswith(("README", "LICENSE", "NOTICE")) for name in others)


def _is_on_branch(root: str, repository: Repository) -> bool:
    """Whether the store's root is the hidden work tree, and not a store of its own in one of its folders."""
    return lore_branch.is_hidden(repository) and os.path.realpath(root) == repository.worktree


def _brought_back(root: str) -> Repository | None:
    """The repository of a hidden work tree that has vanished, there again; None for any other store."""
    common_dir = lore_branch.common_dir_of(root)
    if common_dir is None:
        return None
    from engram.usecases.branch_placement import restore

    return restore(common_dir)


def _how_to_have_one(path: str) -> str:
    from engram.usecases.branch_placement import branch_known

    return branch_known(path) or f"Make one: engram init{'' if path == os.getcwd() else f' {path}'}"


def _scope_of(root: str) -> str:
    return USER if os.path.realpath(root) == os.path.realpath(places.user_store()) else PROJECT


def _ignore_state(state: str) -> None:
    path = os.path.join(state, ".gitignore")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as file:
            file.write("*\n")
