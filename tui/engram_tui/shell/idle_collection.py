"""Collect garbage while no key is pressed: with 100,000 items it takes a tenth of a second, in which nothing is drawn."""

from __future__ import annotations

import gc
import time

IDLE = 1.0  # seconds without a key after which nobody notices
# Thresholds of the three generations: the youngest is collected so often that it takes a millisecond.
YOUNG = 2_000
MIDDLE = 20
NEVER = 1_000_000_000
FULL_AFTER = 5  # collections of the middle generation that make a full one worth while


class IdleCollection:
    """Leaves full collections to idle moments, from its creation until `end`."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._last_key = time.monotonic()
        gc.set_threshold(YOUNG, MIDDLE, NEVER)

    def note_key(self) -> None:
        """Note that a key was pressed."""
        self._last_key = time.monotonic()

    def collect(self) -> None:
        """Collect everything if it is worth while and no key was pressed lately."""
        if gc.isenabled() and gc.get_count()[2] >= FULL_AFTER and time.monotonic() - self._last_key >= IDLE:
            gc.collect()

    def end(self) -> None:
        """Restore Python's thresholds."""
        gc.set_threshold(*self._before)
