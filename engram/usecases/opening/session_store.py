"""Stores of sessions: plain folders in the private state of the surrounding store, never in git, deleted when old."""

from __future__ import annotations

import contextlib
import os

from engram.domain.scopes import SESSION, scope_named
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.store import PLAIN, Places, Store

if TYPE_CHECKING:
    from collections.abc import Iterator


FOLDER = "lore"
_SESSIONS = "sessions"
_DELETED_PREFIX = ".gone-"
_USED_FILE = "used"  # its modification time is the time of last use
_MAX_NAME = 120
_DAY_NS = 86_400 * 1_000_000_000


def session_root(state: str, session: str) -> str:
    """Return the folder of a session's store, below the state folder of the surrounding store."""
    return os.path.join(state, _SESSIONS, _folder_name(session))


def has_sessions(state: str) -> bool:
    """Whether any session has, or had, a store here."""
    return os.path.isdir(os.path.join(state, _SESSIONS))


def session_places(state: str, session: str) -> Places:
    """Return the places of a session's store, and make its folders. Raises StoreError."""
    from engram.usecases.opening.store_layout import make_state

    root = session_root(state, session)
    own = os.path.join(root, ".engram")
    make_state(own, outside_git=True)
    return Places(root, FOLDER, own, PLAIN, SESSION, None)


def session_stores(store: Store) -> Iterator[Store]:
    """Yield the stores of all sessions of the surrounding store, by folder name; each is closed before the next."""
    base = os.path.join(store.stand.state, _SESSIONS)
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(base)):
            own = os.path.join(base, name, ".engram")
            if not name.startswith(_DELETED_PREFIX) and os.path.isdir(own):
                places = Places(os.path.join(base, name), FOLDER, own, PLAIN, SESSION, None)
                with contextlib.closing(Store(places, store.settings, store.clock, store.caller)) as found:
                    yield found


def touch(store: Store) -> None:
    """Record that a session's store is in use now."""
    now = store.clock.nanoseconds()
    path = os.path.join(store.places.state, _USED_FILE)
    with contextlib.suppress(OSError):
        if not os.path.exists(path):
            with open(path, "wb"):
                pass
        os.utime(path, ns=(now, now))


def sweep_due(store: Store) -> bool:
    """Whether stores of sessions were unused for longer than `scopes.session.retention_days`."""
    return has_sessions(store.stand.state) and next(_list_expired(store), None) is not None


def sweep(store: Store) -> int:
    """Delete the stores of sessions that were unused for that long; returns their number."""
    import shutil

    count = 0
    if not has_sessions(store.stand.state):
        return 0
    for root in list(_list_expired(store)):
        folder, name = os.path.split(root)
        target = root if name.startswith(_DELETED_PREFIX) else os.path.join(folder, _DELETED_PREFIX + name)
        try:
            os.rename(root, target)  # hide it first, so that no half-deleted store is found
        except OSError:
            continue
        shutil.rmtree(target, ignore_errors=True)
        count += 1
    return count


def _list_expired(store: Store) -> Iterator[str]:
    """Yield the folders of unused sessions, and those left by a killed sweep."""
    days = scope_named(store.settings, SESSION).retention_days
    limit = store.clock.nanoseconds() - days * _DAY_NS
    own = _folder_name(store.caller.session)
    with contextlib.suppress(OSError), os.scandir(os.path.join(store.stand.state, _SESSIONS)) as entries:
        for entry in entries:
            is_leftover = entry.name.startswith(_DELETED_PREFIX)
            if is_leftover or (entry.name != own and _used_ns(entry.path) < limit):
                yield entry.path


def _used_ns(root: str) -> int:
    """Return the time of last use of a session's store, in Unix nanoseconds."""
    try:
        return os.stat(os.path.join(root, ".engram", _USED_FILE)).st_mtime_ns
    except OSError:
        return os.stat(root, follow_symlinks=False).st_mtime_ns


def _folder_name(session: str) -> str:
    """Return a folder name for any session name that is unique even on case-insensitive file systems."""
    plain = "".join(
        [
            c if c in "-." or c.isdigit() or ("a" <= c <= "z") else "".join([f"_{b:02x}" for b in c.encode()])
            for c in session
        ]
    )
    if len(plain) <= _MAX_NAME:
        return f"s-{plain}"
    from hashlib import blake2b  # 4 ms, for the rare long name

    return f"h-{blake2b(session.encode(), digest_size=16).hexdigest()}"
