"""The other scopes of an open store: which exist, opening them, and which of them a query searches."""

from __future__ import annotations

import os
import sqlite3

from engram.adapters.files import places
from engram.domain.errors import EngramError
from engram.domain.scopes import PROJECT, SESSION, USER, check_scope, scope_names
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.opening.session_store import has_sessions, session_root, touch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.usecases.store.store import Store

TROUBLE = (EngramError, OSError, sqlite3.Error)


def open_scope_of(store: Store, name: str, *, make: bool = False) -> Store:
    """Return the store of a scope, opened on first use and closed with `store`. `make` makes the user's own if needed.

    Raises UsageError for an unknown name, NotFoundError if there is no such store, StoreError, ConfigError.
    """
    if name in ("", store.places.scope):
        return store
    name = check_scope(store.settings, name)
    if name == store.places.scope:
        return store
    # A server has many sessions, each with its own store under the same name.
    key = f"{SESSION}:{store.caller.session}" if name == SESSION else name
    if key not in store.others:
        from engram.usecases.opening.open_store import open_scope

        other = open_scope(name, store.stand, store.settings, store.clock, store.caller, make=make)
        other.session_state = store.session_state
        other.stand = store.stand._replace(named=True)
        store.others[key] = other
    found = store.others[key]
    found.deed, found.caller = store.deed, store.caller
    return found


def reachable_scopes(store: Store) -> tuple[str, ...]:
    """Return the names of all scopes from here: the session's, the project's if any, the user's, the teams'."""
    here = store.stand.scope
    return tuple([name for name in scope_names(store.settings) if name != PROJECT or here == PROJECT])


def root_of(store: Store, name: str) -> str:
    """Return the root of a scope's store, which may not exist."""
    if name == store.places.scope:
        return store.places.root
    if name == SESSION:
        return session_root(store.stand.state, store.caller.session)
    from engram.usecases.opening.open_store import scope_root

    return scope_root(name, store.stand, store.settings)


def exists(store: Store, name: str) -> bool:
    """Whether a scope's store is on this machine."""
    if name in (store.places.scope, store.stand.scope):
        return True
    if name == SESSION:
        return has_sessions(store.stand.state) and os.path.isdir(root_of(store, name))
    return os.path.isfile(os.path.join(root_of(store, name), places.CONFIG_NAME))


def stores_to_search(store: Store, wanted: Sequence[str], notes: list[str]) -> list[Store]:
    """Return the stores that a query searches, `store` first if it is one of them. Notes name those that cannot be opened.

    `wanted` are their scopes. By default, these are the store that the call named and its session, else all that exist.
    Raises UsageError for an unknown name, and any error of the only store wanted.
    """
    names = [check_scope(store.settings, name) for name in dict.fromkeys(wanted)] or _default_scopes(store)
    if names == [store.places.scope]:
        return [store]
    names.sort(key=lambda name: name != store.places.scope)
    found = []
    for name in names:
        try:
            other = _open_to_ask(store, name, must=name in wanted)
            if other is not None:
                found.append(other)
        except TROUBLE as error:
            if len(names) == 1:
                raise
            notes.append(describe_omission(name, error))
    return found


def describe_omission(name: str, error: Exception) -> str:
    """Return the note that a scope could not be searched."""
    reason = f"{error.message} {error.hint}".strip() if isinstance(error, EngramError) else str(error)
    return f"{name} was left out: {reason}"


def others(store: Store) -> Iterator[Store]:
    """Yield the other stores that exist, each opened in its turn; those that cannot be opened are skipped.

    There are none if the call named its scope.
    """
    if store.stand.named:
        return
    for name in reachable_scopes(store):
        if name != store.places.scope and exists(store, name):
            try:
                yield open_scope_of(store, name)
            except TROUBLE:
                continue


def _default_scopes(store: Store) -> list[str]:
    here = store.places.scope
    if not store.stand.named:
        return list(reachable_scopes(store))
    # A path names the store together with its session, a scope only that scope.
    return [here, SESSION] if here == store.stand.scope and here != SESSION else [here]


def _open_to_ask(store: Store, name: str, *, must: bool) -> Store | None:
    """Return the store of a scope to search; None if it is empty."""
    if name == store.places.scope:
        return store
    if not exists(store, name):
        if name in (SESSION, USER) or (name == PROJECT and not must):
            return None
    elif is_empty(root_of(store, name)):
        return None
    other = open_scope_of(store, name)
    if name == SESSION:
        touch(other)
    return other


def is_empty(root: str) -> bool:
    """Whether the lore folder has no files at all, without opening the store; only for the default folder."""
    pending = [os.path.join(root, "lore")]
    try:
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        return False
                    pending.append(entry.path)
    except OSError:
        return False
    return True
