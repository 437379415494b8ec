"""Automatic syncs: by interval after a command, and at the start and end of a session, without anybody waiting.

They run in the detached process that follows a command, one at a time. Being offline is normal: after each failure the
pause before the next attempt doubles. The result is recorded as that of any sync.
"""

from __future__ import annotations

import contextlib
import os

from engram.domain.entry import times
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import sync_state

if TYPE_CHECKING:
    from engram.usecases.store.store import Store
    from engram.usecases.sync.sync import Synced

INTERVAL, ON_SESSION = "sync.interval", "sync.on_session"
LONGEST_SECONDS = (
    6 * 3600.0
)  # between two attempts at a remote that fails, unless the interval itself is longer
TIMEOUT = 30.0  # seconds, for each command that uses the network
NEVER = float("inf")


def seconds_until_due(store: Store) -> float:
    """Return how long until the next sync by interval: 0 or less if it is due, NEVER if there is none."""
    minutes = store.settings.number(INTERVAL)
    if not minutes or not can_sync(store):
        return NEVER
    last = sync_state.last(store)
    if not isinstance(last["at"], str):
        return 0.0
    try:
        since = (store.clock.now() - times.parse(last["at"])).total_seconds()
    except ValueError:
        return 0.0
    # A clock that was set back must not postpone it for ever.
    return pause(minutes * 60, int(str(last["failures"]))) - since if since >= 0 else 0.0


def pause(interval: float, failures: int) -> float:
    """Return the seconds between two attempts, after so many failures in a row."""
    return min(interval * 2.0 ** min(failures, 30), max(interval, LONGEST_SECONDS))


def is_due(store: Store) -> bool:
    """Return whether a sync by interval is due."""
    return seconds_until_due(store) <= 0


def can_sync(store: Store) -> bool:
    """Return whether the store has a repository of its own with a remote; read from git's files, without starting git."""
    places = store.places
    if places.repository is None or not places.owns_branch:
        return False
    with (
        contextlib.suppress(OSError),
        open(os.path.join(places.repository.common_dir, "config"), "rb") as file,
    ):
        return b'[remote "' in file.read()
    return False


def sync_if_due(store: Store) -> Synced | None:
    """Sync if it is due and no other process does; None if it is not due, or failed (`status` shows why)."""
    return _sync(store) if is_due(store) else None


def session_sync(store: Store) -> bool:
    """At the start or end of a session, start a sync in a separate process if `sync.on_session` is set.

    Return at once whether one was started. A remote that cannot be reached is no error.
    """
    if not store.settings.flag(ON_SESSION) or not can_sync(store):
        return False
    from engram.usecases.store.detached import start_detached

    start_detached(store.places.root, sync=True)
    return True


def sync_now(store: Store) -> Synced | None:
    """Sync now, in the process that `session_sync` started, unless another process does. Raises no EngramError."""
    return _sync(store) if can_sync(store) else None


def _sync(store: Store) -> Synced | None:
    from engram.adapters.files.durable.lock import FileLock
    from engram.usecases.sync.sync import Options, sync

    lock = FileLock(os.path.join(store.places.state, "auto-sync.lock"))
    try:
        if not lock.try_acquire():
            return None
    except OSError:
        return None
    try:
        return sync(store, Options(timeout=TIMEOUT))
    except EngramError:
        return None
    finally:
        lock.release()
