"""Tombstones: the entries deleted from this clone and when that was noticed, for programs that keep a copy."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.state.connection import StateConnection

SCHEMA = "CREATE TABLE IF NOT EXISTS gone (id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;"


class Tombstones:
    """The ids of deleted entries."""

    def __init__(self, state: StateConnection) -> None:
        """Open nothing yet."""
        self._state = state

    def add(self, ids: Iterable[str], now: float) -> None:
        """Record these entries as deleted at `now` (Unix seconds)."""
        self._state.run_many(
            "INSERT OR REPLACE INTO gone (id, at) VALUES (?, ?)", [(one, now) for one in ids]
        )

    def all(self) -> list[tuple[str, float]]:
        """Return the deleted ids and when that was noticed (Unix seconds); an entry may have come back."""
        return [(row[0], row[1]) for row in self._state.run("SELECT id, at FROM gone ORDER BY id")]
