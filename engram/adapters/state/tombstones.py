"""Which lore went from this clone, and when that was noticed: what a program that keeps a copy must delete."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.state.connection import StateConnection

SCHEMA = "CREATE TABLE IF NOT EXISTS gone (id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;"


class GoneTable:
    """The ids of lore that were here once."""

    def __init__(self, state: StateConnection) -> None:
        """Nothing is opened yet."""
        self._state = state

    def note(self, ids: Iterable[str], now: float) -> None:
        """These are gone since `now` (Unix seconds)."""
        self._state.run_many("INSERT OR REPLACE INTO gone VALUES (?, ?)", [(one, now) for one in ids])

    def all(self) -> list[tuple[str, float]]:
        """What went, and when that was noticed (Unix seconds); it may have come back."""
        return [(row[0], row[1]) for row in self._state.run("SELECT id, at FROM gone ORDER BY id")]
