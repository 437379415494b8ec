"""The thread in which a long-lived program commits its changes."""

from __future__ import annotations

import threading
import time

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.judgements.commit_own import commit_if_due, seconds_until_due
from engram.usecases.store.commit import commit_quietly, has_work
from engram.usecases.store.sync_state import last_change
from engram.usecases.upkeep.background import note_change

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


_CHECK_SECONDS = 60.0  # how often to check whether a sync is due


class Committer:
    """A thread that commits the journal soon after each change, and judgements after ten minutes or at the end."""

    def __init__(self, store: Store) -> None:
        """Start the thread at the first change, or now if `sync.interval` is set or a change waits to be synced."""
        self._store = store
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        if store.settings.get("sync.interval") or last_change(store):
            self._start()

    def changed(self) -> None:
        """Wake the thread after a write."""
        if self._stopping:
            return
        note_change(self._store)
        if not (
            has_work(self._store) or last_change(self._store) or seconds_until_due(self._store) is not None
        ):
            return
        if self._thread is None:
            self._start()
        self._wake.set()

    def stop(self, timeout: float = 60.0) -> None:
        """Commit pending changes and end the thread; after `timeout` seconds the rest stays in the journal."""
        deadline = time.monotonic() + timeout
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=timeout)
        if time.monotonic() < deadline:
            commit_quietly(self._store)
            commit_if_due(self._store, at_once=True)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="engram-committer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping:
            waits = [self._sync_when_due(), seconds_until_due(self._store)]
            self._wake.wait(min([wait for wait in waits if wait is not None], default=None))
            self._wake.clear()
            commit_quietly(self._store)
            commit_if_due(self._store)

    def _sync_when_due(self) -> float | None:
        """Start a sync in its own process if one is due; return the seconds until the next check (None: never).

        It does not run in this thread, so that closing the store does not wait for a remote.
        """
        interval = self._store.settings.get("sync.interval")
        if self._stopping or not (interval or last_change(self._store)):
            return None
        from engram.usecases.store.detached_process import start_detached
        from engram.usecases.sync.auto_sync import NEVER, seconds_until_due

        wait = seconds_until_due(self._store)
        if wait == NEVER:
            return _CHECK_SECONDS if interval else None  # a remote may be added
        if wait > 0:
            return min(wait, _CHECK_SECONDS)
        start_detached(self._store.places.root)
        return _CHECK_SECONDS
