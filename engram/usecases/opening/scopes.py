"""The other scopes, as seen from an open store: which exist, opening them, and which a query searches."""

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


def reach(store: Store, name: str, *, make: bool = False) -> Store:
    """Return the store of a scope, opened when first asked for and closed with `store`. `make` makes the user's own.

    Raises UsageError for an unknown name, NotFoundError where there is no such store, StoreError, ConfigError.
    """
    if name in ("", store.places.scope):
        return store
    name = check_scope(store.settings, name)
    if name == store.places.scope:
        return store
    # A server has many sessions: each has a store of its own under the one name.
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
    """Return the names of all scopes from here: the session's, the project's where there is one, the user's, the teams'."""
    here = store.stand.scope
    return tuple([name for name in scope_names(store.settings) if name != PROJECT or here == PROJECT])


def root_of(store: Store, name: str) -> str:
    """Return where the store of a scope is, or would be."""
    if name == store.places.scope:
        return store.places.root
    if name == SESSION:
        return session_root(store.stand.state, store.caller.session)
    from engram.usecases.opening.open_store import scope_root

    return scope_root(name, store.stand, store.settings)


def exists(store: Store, name: str) -> bool:
    """Return whether a scope's store is on this machine."""
    if name in (store.places.scope, store.stand.scope):
        return True
    if name == SESSION:
        return has_sessions(store.stand.state) and os.path.isdir(root_of(store, name))
    return os.path.isfile(os.path.join(root_of(store, name), places.CONFIG_NAME))


def stores_to_ask(store: Store, wanted: Sequence[str], notes: list[str]) -> list[Store]:
    """Return the stores that a query asks, `store` first if it is among them; those that cannot be opened become notes.

    `wanted` names them. By default a store that the call named is asked with its session; otherwise all there are.
    Raises UsageError for an unknown name, and what is wrong with the only one that was wanted.
    """
    names = [check_scope(store.settings, name) for name in dict.fromkeys(wanted)] or _default(store)
    if names == [store.places.scope]:
        return [store]
    names.sort(key=lambda name: name != store.places.scope)
    found = []
    for name in names:
        try:
            other = _store_to_ask(store, name, must=name in wanted)
            if other is not None:
                found.append(other)
        except TROUBLE as error:
            if len(names) == 1:
                raise
            notes.append(describe_omission(name, error))
    return found


def describe_omission(name: str, error: Exception) -> str:
    """Return the note that a scope could not be asked."""
    words = f"{error.message} {error.hint}".strip() if isinstance(error, EngramError) else str(error)
    return f"{name} was left out: {words}"


def others(store: Store) -> Iterator[Store]:
    """Yield the further stores there are, each opened when it is its turn; those that cannot be are passed over.

    None where the call named its scope.
    """
    if store.stand.named:
        return
    for name in reachable_scopes(store):
        if name != store.places.scope and exists(store, name):
            try:
                yield reach(store, name)
            except TROUBLE:
                continue


def _default(store: Store) -> list[str]:
    here = store.places.scope
    if not store.stand.named:
        return list(reachable_scopes(store))
    # A path names the store around the session, a scope names just that one.
    return [here, SESSION] if here == store.stand.scope and here != SESSION else [here]


def _store_to_ask(store: Store, name: str, *, must: bool) -> Store | None:
    """Return the store of a scope that is to be asked; None where it holds nothing."""
    if name == store.places.scope:
        return store
    if not exists(store, name):
        if name in (SESSION, USER) or (name == PROJECT and not must):
            return None
    elif is_empty(root_of(store, name)):
        return None
    other = reach(store, name)
    if name == SESSION:
        touch(other)
    return other


def is_empty(root: str) -> bool:
    """Return whether the lore folder holds no file at all, found without opening anything; only for the usual folder."""
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
