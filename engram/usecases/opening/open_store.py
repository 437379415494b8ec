"""Find and open the store for a call."""

from __future__ import annotations

import os

from engram.adapters.files import config_file, places
from engram.adapters.git.run.layout import find_repository
from engram.adapters.git.write import lore_branch
from engram.adapters.state.database import StateDatabase
from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.scopes import PROJECT, SESSION, USER, check_scope, scope_named
from engram.domain.settings import BUILT_IN_SCOPES, Settings
from engram.usecases.opening.store_layout import Located, enclosing_store, locate_root, make_store
from engram.usecases.store.store import DEDICATED, Caller, Clock, Stand, Store


def open_store(
    path: str | None,
    caller: Caller,
    *,
    scope: str = "",
    clock: Clock | None = None,
    working: str | None = None,
    start: str | None = None,
) -> Store:
    """Open the store at or above `path`; without a path, the enclosing store of `working`, else the user's own.

    `scope` selects one by name: `session`, `project` (never the user's own), `user` or a team's. `start` is a path that
    the caller did not name but configured, for instance in an environment variable. The user's own store is made on first
    use, so that recording works anywhere without setup. Raises NotFoundError, UsageError, StoreError, ConfigError.
    """
    clock = clock or Clock()
    if scope and scope not in BUILT_IN_SCOPES:
        check_scope(config_file.load(None), scope)
    here = locate(path, scope, working or os.getcwd(), start)
    home = here.places
    stand = Stand(home.root, home.state, home.scope, bool(path or scope))
    if not scope or scope == home.scope:
        store = make_store(here, clock, caller)
    else:
        store = open_scope(scope, stand, here.settings.settings, clock, caller, make=True)
        store.session_state = StateDatabase(stand.state, store.degraded.append)
    store.stand = stand
    store.files.recover()
    return store


def locate(path: str | None, scope: str, working: str, start: str | None = None) -> Located:
    """Return the store of the caller's location; the user's own is made if needed."""
    try:
        named = path or start
        root = _find_enclosing(named) if named else enclosing_store(working)
        if root is None and scope == PROJECT:
            raise NotFoundError("There is no project store here.", _creation_hint(working))
        here = locate_root(root or own_store())
    except EngramError:
        if path is not None or scope in ("", SESSION, PROJECT):
            raise
        return locate_root(own_store(), USER)  # an error here does not affect a scope elsewhere
    root, found = here.places.root, here.places.scope
    if path is not None and scope not in ("", SESSION, found):
        raise UsageError(
            f"{root} is not a {scope} store but a {found} store.", "Name the store or the scope."
        )
    if scope == PROJECT and found == USER:
        raise NotFoundError("There is no project store here.", _creation_hint(working))
    return here


def is_first_run(working: str) -> bool:
    """Whether opening without a path in `working` would make the user's own store."""
    own = os.path.join(places.user_store(), places.CONFIG_NAME)
    return enclosing_store(working) is None and not os.path.isfile(own)


def own_store_notice(store: Store, working: str) -> str:
    """Return the `branch_notice` if the user's own store is used because there is none around `working`; else ""."""
    is_own = store.stand.scope == USER and not store.stand.named
    return branch_notice(working) if is_own else ""


def branch_notice(working: str) -> str:
    """Return a sentence if the repository of `working` has a branch of lore that is not a store yet; else ""."""
    repository = find_repository(working)
    if repository is None or not lore_branch.may_exist(repository.common_dir):
        return ""
    from engram.usecases.opening.branch_placement import branch_hint

    return branch_hint(repository.worktree)


def own_store() -> str:
    """Return the root of the user's own store, making it if there is none."""
    root = places.user_store()
    if not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        from engram.usecases.opening.init import init

        init(root, placement=DEDICATED)
    return root


def open_scope(
    name: str, stand: Stand, settings: Settings, clock: Clock, caller: Caller, *, make: bool = False
) -> Store:
    """Open the store of a scope, seen from `stand`. `make`: make the user's own if it does not exist yet.

    Raises NotFoundError if there is none, UsageError for an unknown name, StoreError, ConfigError.
    """
    if check_scope(settings, name) == SESSION:
        from engram.usecases.opening.session_store import session_places, touch

        session = Store(session_places(stand.state, caller.session), settings, clock, caller)
        touch(session)
        return session
    root = own_store() if make and name == USER else scope_root(name, stand, settings)
    if not root or not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        raise _missing_scope_error(name, settings)
    store = make_store(locate_root(root, name), clock, caller)
    store.files.recover()
    return store


def scope_root(name: str, stand: Stand, settings: Settings) -> str:
    """Return the root of the store of a scope, which may not exist; "" for a missing project. Not for sessions."""
    if name == stand.scope:
        return stand.root
    if name == PROJECT:
        return ""
    return places.user_store() if name == USER else places.team_store(name, scope_named(settings, name).path)


def _missing_scope_error(name: str, settings: Settings) -> NotFoundError:
    if name == PROJECT:
        return NotFoundError("There is no project store here.", "Create one: engram init")
    if name == USER:
        return NotFoundError(
            "You have no store of your own yet.", "The first `engram record --scope user` creates it."
        )
    url = scope_named(settings, name).url
    hint = f"engram sync --scope {name}" if url else f"Correct scopes.{name} in your own configuration."
    return NotFoundError(f"The store of {name} is not on this machine yet.", hint)


def _find_enclosing(path: str) -> str:
    root = enclosing_store(path)
    if root is None:
        raise NotFoundError(f"There is no store at {path} or above it.", _creation_hint(path))
    return root


def _creation_hint(path: str) -> str:
    from engram.usecases.opening.branch_placement import branch_hint

    return branch_hint(path) or f"Create one: engram init{'' if path == os.getcwd() else f' {path}'}"
