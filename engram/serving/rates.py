"""Rate limits for clients, by token buckets."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_BURST_SHARE = 0.25
_MOST_CLIENTS = 4096
_MINUTE = 60.0


class Rate:
    """A token bucket for each client: `per_minute` requests (0: no limit), a quarter of them at once. `clock` in seconds."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / _MINUTE
        self._most = max(1.0, per_minute * _BURST_SHARE)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, client: str) -> float:
        """Return how many seconds a client must wait; 0 admits this request and counts it."""
        if not self._per_second:
            return 0.0
        now = self._clock()
        left, before = self._buckets.pop(client, (self._most, now))
        left = min(self._most, left + (now - before) * self._per_second)
        wait = 0.0 if left >= 1 else (1 - left) / self._per_second
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _MOST_CLIENTS:  # the bucket unused for longest is full again anyway
            del self._buckets[next(iter(self._buckets))]
        return wait
