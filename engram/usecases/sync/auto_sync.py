"""Automatic syncs: at the start and end of a session, soon after the last change, and at an interval.

They run in a detached process, one at a time, and only with a remote that a person allowed (`sync_consent`). Being
offline is normal: after each failure the delay before the next attempt doubles. Results are recorded as for any sync.
"""

from __future__ import annotations

import contextlib
import os
import time

from engram.domain.entry import times
from engram.domain.errors import EngramError, RemoteError, UsageError
from engram.domain.scopes import SESSION
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.judgements.publishing import is_ci
from engram.usecases.store import sync_consent, sync_state

if TYPE_CHECKING:
    from engram.adapters.files.durable.lock import FileLock
    from engram.adapters.git.remote.remotes import Remote
    from engram.usecases.store.store import Store
    from engram.usecases.sync.sync import Synced

AUTO, INTERVAL = "sync.auto", "sync.interval"
QUIET_SECONDS = 30.0  # without a change, before changes are sent
QUIET_VARIABLE = "ENGRAM_SYNC_SECONDS"
_MAX_QUIET_PERIODS = 10  # before changes are sent though more keep coming
_MAX_DELAY = 6 * 3600.0  # seconds between two attempts, unless the interval itself is longer
TIMEOUT = 30.0  # seconds, for each command that uses the network
_LOCK_SECONDS = 120.0  # to wait for the sync of another process
NEVER = float("inf")
_NOT_ALLOWED = (
    "The remote is not the one that this store was synced with by hand, so nothing is sent by itself.",
    "Sync once by hand if that is intended: engram sync",
)


def quiet_seconds() -> float:
    """Return the seconds without a change after which changes are sent; NEVER turns that off."""
    with contextlib.suppress(ValueError):
        chosen = float(os.environ.get(QUIET_VARIABLE, ""))
        return chosen if chosen >= 0 else QUIET_SECONDS
    return QUIET_SECONDS


def can_sync(store: Store) -> bool:
    """Return whether this store may sync automatically: in git, with a remote, allowed by a person, and not in CI.

    Reads files alone, without starting git: the process that syncs checks which remote was allowed.
    """
    places = store.places
    if (
        places.repository is None
        or places.scope == SESSION
        or is_ci()
        or not sync_consent.is_any_allowed(store)
    ):
        return False
    with (
        contextlib.suppress(OSError),
        open(os.path.join(places.repository.common_dir, "config"), "rb") as file,
    ):
        return b'[remote "' in file.read()
    return False


def is_auto(store: Store) -> bool:
    """Return whether this store syncs at the start and end of sessions and after changes."""
    return store.settings.flag(AUTO) and quiet_seconds() != NEVER and can_sync(store)


def mark_change(store: Store) -> None:
    """Note that something was written here, so that it is sent after a quiet period."""
    if is_auto(store):
        sync_state.mark_change(store)


def seconds_until_due(store: Store) -> float:
    """Return the seconds until the next sync, by interval or for changes: 0 or less if due, NEVER if there is none."""
    return min(_seconds_until_send(store), _seconds_until_interval(store))


def is_due(store: Store) -> bool:
    """Return whether a sync is due, by interval or for changes."""
    return seconds_until_due(store) <= 0


def _seconds_until_send(store: Store) -> float:
    """Return the seconds until changes are to be sent; after failures, at least the retry delay."""
    changed = sync_state.last_change(store)
    if not changed or not is_auto(store):
        return NEVER
    quiet, now = quiet_seconds(), store.clock.nanoseconds()
    latest = sync_state.first_change(store) + _MAX_QUIET_PERIODS * quiet * 1e9
    # A clock that was set back must not postpone the sync for ever.
    wait = min((changed - now) / 1e9 + quiet, (latest - now) / 1e9, quiet)
    last = sync_state.last(store)
    failures = int(str(last["failures"]))
    if failures:
        wait = max(wait, _seconds_left(store, last["at"], retry_delay(max(quiet, 1.0), failures)))
    return wait


def _seconds_until_interval(store: Store) -> float:
    minutes = store.settings.number(INTERVAL)
    if not minutes or not can_sync(store):
        return NEVER
    last = sync_state.last(store)
    return _seconds_left(store, last["at"], retry_delay(minutes * 60, int(str(last["failures"]))))


def _seconds_left(store: Store, moment: object, seconds: float) -> float:
    """Return the seconds left until `seconds` after `moment`; 0 if that is not a time, or in the future."""
    try:
        since = (store.clock.now() - times.parse(str(moment))).total_seconds()
    except ValueError:
        return 0.0
    return seconds - since if since >= 0 else 0.0


def retry_delay(interval: float, failures: int) -> float:
    """Return the seconds until the next attempt, after `failures` in a row."""
    return min(interval * 2.0 ** min(failures, 30), max(interval, _MAX_DELAY))


def sync_if_due(store: Store) -> Synced | None:
    """Sync if a sync is due and no other process is syncing; return None if not, or if it failed (`status` shows why)."""
    return _sync(store) if is_due(store) else None


def start_session_sync(store: Store) -> bool:
    """Start a sync in a separate process, at the start or end of a session, if automatic syncs are on.

    Return at once whether one was started. An unreachable remote is not an error.
    """
    if not is_auto(store):
        return False
    from engram.usecases.store.detached_process import start_detached

    start_detached(store.places.root, sync=True)
    return True


def sync_now(store: Store) -> Synced | None:
    """Sync now, in the process that `start_session_sync` started. Raises no EngramError.

    If another process is syncing, wait for it, then send what was written since it began.
    """
    if not is_auto(store):
        return None
    return _sync(store, patience=_LOCK_SECONDS)


def wait_until_quiet(store: Store) -> bool:
    """Wait for a quiet period; return whether this process is to send the changes now.

    One process waits at a time, and none for a remote that failed recently. The store may be closed meanwhile.
    """
    quiet, wait = quiet_seconds(), _seconds_until_send(store)
    if wait == NEVER or not 0 < wait <= quiet:
        return wait <= 0
    with contextlib.suppress(OSError), _lock(store, "sync-wait.lock").tried() as is_locked:
        while is_locked and wait != NEVER and 0 < wait <= quiet:
            time.sleep(wait)
            wait = _seconds_until_send(store)
        return is_locked and wait <= quiet
    return False


def sync_waiting(store: Store) -> Synced | None:
    """Send the changes that `wait_until_quiet` waited for. Raises no EngramError."""
    if not sync_state.last_change(store) or not is_auto(store):
        return None
    return _sync(store, patience=_LOCK_SECONDS)


def _sync(store: Store, patience: float = 0.0) -> Synced | None:
    from engram.usecases.sync.sync import Options, sync

    lock = _lock(store, "auto-sync.lock")
    try:
        if not lock.try_acquire():
            if not patience or not lock.acquire(patience):
                return None
            if not sync_state.last_change(store):  # the other process sent everything
                return None
    except OSError:
        return None
    try:
        remote = remote_of_store(store)
        if remote is None:
            return None
        if not sync_consent.covers(store, remote.name):
            sync_state.remember(store, remote.name, UsageError(*_NOT_ALLOWED))
            return None
        return sync(store, Options(remote.name, timeout=TIMEOUT))
    except EngramError:
        return None
    finally:
        lock.release()


def remote_of_store(store: Store) -> Remote | None:
    """Return the remote that this store syncs with by default, or None. Raises GitError."""
    from engram.adapters.git.remote.remotes import counterpart, remotes
    from engram.adapters.git.run.layout import read_head
    from engram.usecases.store.judgements import branch_of

    places = store.places
    if places.repository is None:
        return None
    branch = read_head(places.repository).branch if places.owns_branch else branch_of(store)
    try:
        name = counterpart(places.repository, branch or "").remote
    except RemoteError:
        return None
    return next((remote for remote in remotes(places.repository) if remote.name == name), None)


def _lock(store: Store, name: str) -> FileLock:
    from engram.adapters.files.durable.lock import FileLock

    return FileLock(os.path.join(store.places.state, name))
