"""Comparing the lore of a large store with one another takes seconds when nobody did it yet: that is done elsewhere.

A process of its own does it and keeps what it found in the store's cache of pairs; the app goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

    from engram.app import Engram
    from engram_tui.shell.store_screen import StoreWork

MANY = 1500  # lore from which comparing them all would hold the app up
LOOK = 0.25  # seconds


class PairSearch:
    """Has pairs found before they are asked for."""

    def __init__(self, store: Engram) -> None:
        """Nothing is started yet."""
        self._store = store
        self._process: Popen[bytes] | None = None
        self._done = False  # from then on only what changed is compared
        self.is_large = False  # whether comparing all lore, or reading them, takes seconds

    def measure(self, store: Engram) -> bool:
        """Find out whether the store is a large one, in a worker's thread."""
        from engram.usecases.index.index_query import consult

        self.is_large = consult(store.store, lambda generation: generation.catalog.count()) > MANY
        return self.is_large

    def ready(self, screen: StoreWork, then: Callable[[], None]) -> None:
        """Call `then` once pairs are found quickly: at once in a small store. Call `measure` before."""
        if self._process is None and not self._done and self.is_large:
            self._process = _started(self._store.path)
        self._done = True
        self._wait(screen, then)

    def stop(self) -> None:
        """End what is still running; what it found until then is not kept."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _wait(self, screen: StoreWork, then: Callable[[], None]) -> None:
        if self._process is None:
            then()
        elif self._process.poll() is None:
            screen.set_timer(LOOK, partial(self._wait, screen, then))
        else:
            self._process = None
            then()


def _started(path: str) -> Popen[bytes] | None:
    """The command that looks for pairs; None where it cannot be started."""
    import subprocess
    import sys

    command = [
        sys.executable,
        "-m",
        "engram",
        "--store",
        path,
        "review",
        "--kind",
        "duplicate",
        "--limit",
        "0",
        "--json",
    ]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
