"""Finding and opening the store that a call is about."""

from __future__ import annotations

import os

from engram.adapters.files import places
from engram.adapters.git.layout import find_repository
from engram.domain.errors import NotFoundError, StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.accepted_settings import in_force
from engram.usecases.clock import Clock
from engram.usecases.store import DEDICATED, IN_TREE, PLAIN, Caller, Places, Store

if TYPE_CHECKING:
    from engram.adapters.git.layout import Repository
    from engram.usecases.accepted_settings import InForce

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
    found, settings = _found(root, found_scope)
    store = Store(found, settings.settings, clock, caller)
    store.held_back, store.notes = settings.held_back, settings.trouble
    store.files.recover()
    return store


def locate(path: str | None, scope: str, working: str) -> tuple[str | None, str]:
    """The root of the store meant (None: the user's own, which may not exist yet) and its scope."""
    if scope and scope not in SCOPES:
        raise UsageError(f"'{scope}' is not a scope.", f"Scopes here: {', '.join(SCOPES)}.")
    if path is not None:
        root = places.enclosing_store(path)
        if root is None:
            raise NotFoundError(f"There is no store at {path} or above it.", f"Make one: engram init {path}")
        found = _scope_of(root)
        if scope and scope != found:
            raise UsageError(
                f"{root} is not a {scope} store but a {found} store.", "Name the store or the scope."
            )
        return root, found
    if scope != USER:
        root = places.enclosing_store(working)
        if root is not None:
            return root, _scope_of(root)
        if scope == PROJECT:
            raise NotFoundError("There is no project store here.", "Make one: engram init")
    return None, USER


def describe(root: str, scope: str) -> Places:
    """Where the store at `root` keeps things; makes its private state folder."""
    return _found(root, scope)[0]


def _found(root: str, scope: str) -> tuple[Places, InForce]:
    repository = find_repository(root)
    state = state_folder(root, repository)
    try:
        os.makedirs(state, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The private folder {state} cannot be made: {error.strerror}.", "Check its permissions."
        ) from None
    if repository is None:
        _ignore_state(state)
    settings = in_force(root, state if repository else None)
    folder, configured = (settings.settings.text(key) for key in ("store.folder", "store.placement"))
    placement = placement_of(root, folder, state, configured, repository)
    return Places(root, folder, state, placement, scope, repository), settings


def state_folder(root: str, repository: Repository | None) -> str:
    """Where a store keeps its private state: in the git folder, so that it is never tracked; else in `.engram`."""
    if repository is None:
        return os.path.join(root, ".engram")
    below = os.path.relpath(os.path.realpath(root), os.path.realpath(repository.worktree))
    base = os.path.join(repository.common_dir, "engram")
    if below == "." and repository.worktree_name == "main":
        return base
    name = below.replace(os.sep, "-").strip(".-") or "top"
    return os.path.join(base, "stores", f"{repository.worktree_name}--{name}")


def placement_of(root: str, folder: str, state: str, configured: str, repository: Repository | None) -> str:
    """`plain` outside git; `dedicated` where the repository is the store's own; else `in-tree`.

    A pulled configuration alone must not make Engram commit to somebody's branch: a dedicated store
    is one that `engram init` marked on this machine, or a repository that holds nothing but lore.
    """
    if repository is None:
        return PLAIN
    if configured != DEDICATED or os.path.realpath(repository.worktree) != os.path.realpath(root):
        return IN_TREE
    if os.path.exists(os.path.join(state, DEDICATED)) or _holds_only_lore(root, folder):
        return DEDICATED
    return IN_TREE


def _holds_only_lore(root: str, folder: str) -> bool:
    top = folder.split("/", maxsplit=1)[0]
    others = [name for name in os.listdir(root) if name not in _OWN_FILES and name != top]
    return all(name.upper().startswith(("README", "LICENSE", "NOTICE")) for name in others)


def _scope_of(root: str) -> str:
    return USER if os.path.realpath(root) == os.path.realpath(places.user_store()) else PROJECT


def _ignore_state(state: str) -> None:
    path = os.path.join(state, ".gitignore")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as file:
            file.write("*\n")
