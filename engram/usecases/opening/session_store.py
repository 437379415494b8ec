"""The stores of sessions: plain folders in the private state of the store around them, never in git, swept when old."""

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
_GONE = ".gone-"
_USED = "used"  # the time of this file is when the store was used last
_LONGEST = 120
_DAY_NS = 86_400 * 1_000_000_000


def session_root(state: str, session: str) -> str:
    """Return where the store of a session is, below the state folder of the store around it."""
    return os.path.join(state, _SESSIONS, _folder_name(session))


def has_sessions(state: str) -> bool:
    """Return whether any session has, or had, a store here."""
    return os.path.isdir(os.path.join(state, _SESSIONS))


def session_places(state: str, session: str) -> Places:
    """Return the places of a session's store, whose folders are made. Raises StoreError."""
    from engram.usecases.opening.store_layout import make_state

    root = session_root(state, session)
    own = os.path.join(root, ".engram")
    make_state(own, outside_git=True)
    return Places(root, FOLDER, own, PLAIN, SESSION, None)


def session_stores(store: Store) -> Iterator[Store]:
    """Yield the stores of all sessions of the store around the caller, by the name of their folder; each is closed then."""
    base = os.path.join(store.stand.state, _SESSIONS)
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(base)):
            own = os.path.join(base, name, ".engram")
            if not name.startswith(_GONE) and os.path.isdir(own):
                places = Places(os.path.join(base, name), FOLDER, own, PLAIN, SESSION, None)
                with contextlib.closing(Store(places, store.settings, store.clock, store.caller)) as found:
                    yield found


def touch(store: Store) -> None:
    """Note that a session's store is in use now."""
    now = store.clock.nanoseconds()
    path = os.path.join(store.places.state, _USED)
    with contextlib.suppress(OSError):
        if not os.path.exists(path):
            with open(path, "wb"):
                pass
        os.utime(path, ns=(now, now))


def sweep_due(store: Store) -> bool:
    """Return whether there are stores of sessions that nobody used for longer than `scopes.session.retention_days`."""
    return has_sessions(store.stand.state) and next(_old(store), None) is not None


def sweep(store: Store) -> int:
    """Delete the stores of sessions that nobody used for that long; how many."""
    import shutil

    count = 0
    if not has_sessions(store.stand.state):
        return 0
    for root in list(_old(store)):
        folder, name = os.path.split(root)
        gone = root if name.startswith(_GONE) else os.path.join(folder, _GONE + name)
        try:
            os.rename(root, gone)  # first out of sight: nobody finds half a store
        except OSError:
            continue
        shutil.rmtree(gone, ignore_errors=True)
        count += 1
    return count


def _old(store: Store) -> Iterator[str]:
    """Yield the folders of those sessions, and what a killed sweep left."""
    days = scope_named(store.settings, SESSION).retention_days
    limit = store.clock.nanoseconds() - days * _DAY_NS
    own = _folder_name(store.caller.session)
    with contextlib.suppress(OSError), os.scandir(os.path.join(store.stand.state, _SESSIONS)) as entries:
        for entry in entries:
            left = entry.name.startswith(_GONE)
            if left or (entry.name != own and _used_ns(entry.path) < limit):
                yield entry.path


def _used_ns(root: str) -> int:
    """Return when a session's store was used last, in Unix nanoseconds."""
    try:
        return os.stat(os.path.join(root, ".engram", _USED)).st_mtime_ns
    except OSError:
        return os.stat(root, follow_symlinks=False).st_mtime_ns


def _folder_name(session: str) -> str:
    """Return a folder's name for any session name, the same on file systems that do not tell cases apart."""
    plain = "".join(
        [
            c if c in "-." or c.isdigit() or ("a" <= c <= "z") else "".join([f"_{b:02x}" for b in c.encode()])
            for c in session
        ]
    )
    if len(plain) <= _LONGEST:
        return f"s-{plain}"
    from hashlib import blake2b  # 4 ms, for the rare long name

    return f"h-{blake2b(session.encode(), digest_size=16).hexdigest()}"
