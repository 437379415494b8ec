"""Finding and opening the store that a call is about."""

from __future__ import annotations

import os

from engram.adapters.files import config_file, places
from engram.adapters.git.run.layout import common_dir_at, find_repository
from engram.adapters.git.write import lore_branch
from engram.adapters.state.database import StateDatabase
from engram.domain.errors import EngramError, NotFoundError, StoreError, UsageError
from engram.domain.scopes import PROJECT, SESSION, USER, checked_scope, scope_named
from engram.domain.settings import BUILT_IN_SCOPES
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.accepted_settings import in_force
from engram.usecases.store.clock import Clock
from engram.usecases.store.store import BRANCH, DEDICATED, IN_TREE, PLAIN, Caller, Places, Stand, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.run.layout import Repository
    from engram.domain.settings import Settings
    from engram.usecases.store.accepted_settings import InForce

_OWN_FILES = {places.CONFIG_NAME, ".git", ".gitattributes", ".gitignore", ".engram"}


class Located(NamedTuple):
    """A store that was found: where it keeps things, and which of its settings are in force."""

    places: Places
    settings: InForce


def open_store(
    path: str | None,
    caller: Caller,
    *,
    scope: str = "",
    clock: Clock | None = None,
    working: str | None = None,
    start: str | None = None,
) -> Store:
    """Open the store at or above `path`; without one, the enclosing store of `working`, else the user's own.

    `scope` picks one by name: `session`, `project` (never the user's own), `user` or a team's. `start` is a path
    that the caller did not name but has set up, for instance in a variable. The user's own store is made on first
    use, so that recording works anywhere with no set-up. Raises NotFoundError, UsageError, StoreError, ConfigError.
    """
    clock = clock or Clock()
    if scope and scope not in BUILT_IN_SCOPES:
        checked_scope(config_file.load(None), scope)
    here = locate(path, scope, working or os.getcwd(), start)
    home = here.places
    stand = Stand(home.root, home.state, home.scope, bool(path or scope))
    if not scope or scope == home.scope:
        store = _opened(here, clock, caller)
    else:
        store = open_scope(scope, stand, here.settings.settings, clock, caller, make=True)
        store.session_state = StateDatabase(stand.state, store.degraded.append)
    store.stand = stand
    store.files.recover()
    return store


def locate(path: str | None, scope: str, working: str, start: str | None = None) -> Located:
    """The store that the caller stands in; the user's own is made if need be."""
    try:
        named = path or start
        root = _enclosing(named) if named else enclosing_store(working)
        if root is None and scope == PROJECT:
            raise NotFoundError("There is no project store here.", _how_to_have_one(working))
        here = _located(root or own_store())
    except EngramError:
        if path is not None or scope in ("", SESSION, PROJECT):
            raise
        return _located(own_store(), USER)  # whatever is wrong here, a scope that is elsewhere can be used
    root, found = here.places.root, here.places.scope
    if path is not None and scope not in ("", SESSION, found):
        raise UsageError(
            f"{root} is not a {scope} store but a {found} store.", "Name the store or the scope."
        )
    if scope == PROJECT and found == USER:
        raise NotFoundError("There is no project store here.", _how_to_have_one(working))
    return here


def is_first_run(working: str) -> bool:
    """Whether opening without a path in `working` would make the user's own store: no store was made here before."""
    own = os.path.join(places.user_store(), places.CONFIG_NAME)
    return enclosing_store(working) is None and not os.path.isfile(own)


def lore_not_taken(store: Store, working: str) -> str:
    """What `untaken_lore` says, for who got their own store because there is none around `working`; else ""."""
    is_own = store.stand.scope == USER and not store.stand.named
    return untaken_lore(working) if is_own else ""


def untaken_lore(working: str) -> str:
    """A sentence where the repository of `working` has a branch of lore that was not taken yet; else ""."""
    repository = find_repository(working)
    if repository is None or not lore_branch.is_heard_of(repository.common_dir):
        return ""
    from engram.usecases.opening.branch_placement import branch_known

    return branch_known(repository.worktree)


def _opened(found: Located, clock: Clock, caller: Caller) -> Store:
    store = Store(found.places, found.settings.settings, clock, caller)
    store.held_back, store.notes = found.settings.held_back, found.settings.trouble
    return store


def own_store() -> str:
    """The root of the user's own store, which is made where there is none."""
    root = places.user_store()
    if not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        from engram.usecases.opening.init import init

        init(root, placement=DEDICATED)
    return root


def open_scope(
    name: str, stand: Stand, settings: Settings, clock: Clock, caller: Caller, *, make: bool = False
) -> Store:
    """Open the store of a scope, seen from `stand`. `make`: where it is the user's own and not there yet, make it.

    Raises NotFoundError where there is none, UsageError for an unknown name, StoreError, ConfigError.
    """
    if checked_scope(settings, name) == SESSION:
        from engram.usecases.opening.session_store import session_places, touch

        session = Store(session_places(stand.state, caller.session), settings, clock, caller)
        touch(session)
        return session
    root = own_store() if make and name == USER else scope_root(name, stand, settings)
    if not root or not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        raise _not_there(name, settings)
    store = _opened(_located(root, name), clock, caller)
    store.files.recover()
    return store


def scope_root(name: str, stand: Stand, settings: Settings) -> str:
    """Where the store of a scope other than the session's is, or would be; "" for a project where there is none."""
    if name == stand.scope:
        return stand.root
    if name == PROJECT:
        return ""
    return places.user_store() if name == USER else places.team_store(name, scope_named(settings, name).path)


def _not_there(name: str, settings: Settings) -> NotFoundError:
    if name == PROJECT:
        return NotFoundError("There is no project store here.", "Make one: engram init")
    if name == USER:
        return NotFoundError(
            "You have no store of your own yet.", "The first `engram record --scope user` makes it."
        )
    url = scope_named(settings, name).url
    hint = f"engram sync --scope {name}" if url else f"Mend scopes.{name} in your own configuration."
    return NotFoundError(f"The store of {name} is not on this machine yet.", hint)


def _enclosing(path: str) -> str:
    root = enclosing_store(path)
    if root is None:
        raise NotFoundError(f"There is no store at {path} or above it.", _how_to_have_one(path))
    return root


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


def nearest(folders: Sequence[str]) -> str:
    """The first of the folders that is in a store, else the last of them."""
    inside = (folder for folder in folders if enclosing_store(folder) is not None)
    return next(inside, folders[-1])


def describe(root: str, scope: str) -> Places:
    """Where the store at `root` keeps things; makes its private state folder."""
    return _located(root, scope).places


def _located(root: str, scope: str = "") -> Located:
    """The store at `root`; without a scope it is the one that the settings say."""
    repository = find_repository(root)
    if repository is None or not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        repository = _brought_back(root) or repository
    state = state_folder(root, repository)
    make_state(state, outside_git=repository is None)
    settings = in_force(root, state if repository else None)
    folder, configured = (settings.settings.text(key) for key in ("store.folder", "store.placement"))
    placement = placement_of(root, folder, state, configured, repository)
    scope = scope or _scope_of(root, settings.settings)
    return Located(Places(root, folder, state, placement, scope, repository), settings)


def make_state(state: str, *, outside_git: bool) -> None:
    """Make a private state folder, with a file that keeps it out of any git around it. Raises StoreError."""
    try:
        os.makedirs(state, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The private folder {state} cannot be made: {error.strerror}.", "Check its permissions."
        ) from None
    if outside_git:
        _ignore_state(state)


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
    from engram.usecases.opening.branch_placement import restore

    return restore(common_dir)


def _how_to_have_one(path: str) -> str:
    from engram.usecases.opening.branch_placement import branch_known

    return branch_known(path) or f"Make one: engram init{'' if path == os.getcwd() else f' {path}'}"


def _scope_of(root: str, settings: Settings) -> str:
    real = os.path.realpath(root)
    if real == os.path.realpath(places.user_store()):
        return USER
    for name in settings.teams():
        if real == os.path.realpath(places.team_store(name, scope_named(settings, name).path)):
            return name
    return PROJECT


def _ignore_state(state: str) -> None:
    path = os.path.join(state, ".gitignore")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as file:
            file.write("*\n")
