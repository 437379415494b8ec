"""The thread in which a long-lived program commits what it changed."""

from __future__ import annotations

import threading
import time

from engram.domain.typed import TYPE_CHECKING
from engram.usecases.commit import commit_quietly, has_work

if TYPE_CHECKING:
    from engram.usecases.store import Store


class Committer:
    """Commits of a long-lived program: a thread that works through the journal soon after each change."""

    def __init__(self, store: Store) -> None:
        """The thread starts with the first change."""
        self._store = store
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def changed(self) -> None:
        """Something was written."""
        if not has_work(self._store) or self._stopping:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="engram-committer", daemon=True)
            self._thread.start()
        self._wake.set()

    def stop(self, timeout: float = 60.0) -> None:
        """Commit what is left, then end the thread; after `timeout` seconds what is left stays in the journal."""
        deadline = time.monotonic() + timeout
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=timeout)
        if time.monotonic() < deadline:
            commit_quietly(self._store)

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait()
            self._wake.clear()
            commit_quietly(self._store)
