"""How often a client may come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_BURST_SHARE = 0.25
_MOST_CLIENTS = 4096
_MINUTE = 60.0


class Rate:
    """A bucket for each client that fills evenly: so many requests a minute, a quarter of them at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`per_minute` 0 lets everything through; `clock` in seconds."""
        self._per_second = per_minute / _MINUTE
        self._most = max(1.0, per_minute * _BURST_SHARE)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, client: str) -> float:
        """How many seconds a client must wait before its next request; 0 lets this one through and counts it."""
        if not self._per_second:
            return 0.0
        now = self._clock()
        left, before = self._buckets.pop(client, (self._most, now))
        left = min(self._most, left + (now - before) * self._per_second)
        wait = 0.0 if left >= 1 else (1 - left) / self._per_second
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _MOST_CLIENTS:  # who was not here for longest has a full bucket anyway
            del self._buckets[next(iter(self._buckets))]
        return wait
