"""Time and chance, in one object, so that tests can fix both."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from engram.domain.entry import ulid


class Clock:
    """The machine's clock and random numbers."""

    def now(self) -> datetime:
        """Return the present moment, UTC."""
        return datetime.fromtimestamp(self.nanoseconds() / 1e9, UTC)

    def nanoseconds(self) -> int:
        """Nanoseconds since 1970."""
        return time.time_ns()

    def new_id(self) -> str:
        """Return a new ULID."""
        return ulid.encode(self.nanoseconds() // 1_000_000, int.from_bytes(os.urandom(10), "big"))
