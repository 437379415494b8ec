"""Find similar pairs of entries in a process of its own, as the first search of a large store takes seconds.

The process fills the store's cache of pairs; the app stays responsive meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

    from engram.app import Engram
    from engram_tui.shell.store_screen import StoreScreen

LARGE = 1500  # entries from which comparing all of them would block the app
POLL_INTERVAL = 0.25  # seconds


class PairSearch:
    """Fills the cache of pairs before it is needed."""

    def __init__(self, store: Engram) -> None:
        """Start nothing yet."""
        self._store = store
        self._process: Popen[bytes] | None = None
        self._started = False  # a process is started only once: later only changed entries are compared
        self.is_large = False  # whether comparing or reading all entries takes seconds

    def measure(self, store: Engram) -> bool:
        """Find out whether the store is large; runs in a worker thread."""
        from engram.usecases.index.index_query import query_index

        self.is_large = query_index(store.store, lambda generation: generation.catalog.count()) > LARGE
        return self.is_large

    def call_when_ready(self, screen: StoreScreen, then: Callable[[], None]) -> None:
        """Call `then` once the cache is filled: at once in a small store. Call `measure` before."""
        if self._process is None and not self._started and self.is_large:
            self._process = _start_process(self._store.path)
        self._started = True
        self._wait(screen, then)

    def stop(self) -> None:
        """Kill the process if it still runs; what it found until then is lost."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _wait(self, screen: StoreScreen, then: Callable[[], None]) -> None:
        if self._process is None:
            then()
        elif self._process.poll() is None:
            screen.set_timer(POLL_INTERVAL, partial(self._wait, screen, then))
        else:
            self._process = None
            then()


def _start_process(path: str) -> Popen[bytes] | None:
    """Start the command that searches for pairs; returns None if it cannot be started."""
    import subprocess
    import sys

    options = ["review", "--kind", "duplicate", "--limit", "0", "--json"]
    command = [sys.executable, "-m", "engram", "--store", path, *options]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
