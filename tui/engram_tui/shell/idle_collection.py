"""Collect garbage while no key is pressed: with 100,000 items in a list it takes a tenth of a second, in which nothing is drawn."""

from __future__ import annotations

import gc
import time

IDLE = 1.0  # seconds without a key after which nobody notices
# Thresholds of the three generations: what is new is looked at often, so each time takes a millisecond.
YOUNG = 2_000
MIDDLE = 20
NEVER = 1_000_000_000
WORTH_IT = 5  # looks at what is new, after which all is looked at


class IdleCollection:
    """From its making until `end`."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._last_key = time.monotonic()
        gc.set_threshold(YOUNG, MIDDLE, NEVER)

    def note_key(self) -> None:
        """Note that a key was pressed."""
        self._last_key = time.monotonic()

    def collect(self) -> None:
        """Collect if enough came and went, and the keys rest."""
        if gc.isenabled() and gc.get_count()[2] >= WORTH_IT and time.monotonic() - self._last_key >= IDLE:
            gc.collect()

    def end(self) -> None:
        """Leave it to Python again."""
        gc.set_threshold(*self._before)
