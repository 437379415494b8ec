"""Syncing by itself: now and then after a command, and at the start and end of a session, never in anybody's way.

The detached process that follows a command does it, one at a time. Being offline is normal: after a failure the
next try is later, twice as long each time. How it went is remembered as of any sync.
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
LONGEST_SECONDS = 6 * 3600.0  # between two tries of a remote that fails, unless the interval itself is longer
TIMEOUT = 30.0  # seconds, for each command that uses the network
NEVER = float("inf")


def seconds_until_due(store: Store) -> float:
    """How long until the next sync by interval; 0 or less where it is due, NEVER where there is to be none."""
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
    # A clock that was set back must not put it off for ever.
    return pause(minutes * 60, int(str(last["failures"]))) - since if since >= 0 else 0.0


def pause(interval: float, failures: int) -> float:
    """Seconds between two tries, after so many failures in a row."""
    return min(interval * 2.0 ** min(failures, 30), max(interval, LONGEST_SECONDS))


def is_due(store: Store) -> bool:
    """Whether a sync by interval is due."""
    return seconds_until_due(store) <= 0


def can_sync(store: Store) -> bool:
    """Whether the store has a repository of its own with a remote; read from git's files, without starting git."""
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
    """Sync where it is due and no other process is at it; None where it is not, or failed (`status` shows why)."""
    return _sync(store) if is_due(store) else None


def session_sync(store: Store) -> bool:
    """At the start or end of a session: start a sync in a process of its own, where `sync.on_session` wants that.

    Says whether one was started. It returns at once, and a remote that cannot be reached is no trouble.
    """
    if not store.settings.flag(ON_SESSION) or not can_sync(store):
        return False
    from engram.usecases.store.detached import start_detached

    start_detached(store.places.root, sync=True)
    return True


def sync_now(store: Store) -> Synced | None:
    """What the process that `session_sync` started does: sync now, unless another one is at it. Raises nothing expected."""
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
