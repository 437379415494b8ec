"""Moments of entries that this clone learned from use: in the store's state database, never in a file, never shared."""

from __future__ import annotations

from engram.adapters.state.connection import StateTable
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 4  # of an entry: those learned last
_MAX_AGE_SECONDS = 180 * 86_400.0  # since it was last learned
_LEARN = "INSERT OR REPLACE INTO learned_moments (id, line, at) VALUES (?, ?, ?)"


class LearnedMoments(StateTable):
    """Moments by entry, each as a line of `when:`."""

    SCHEMA = """
    CREATE TABLE IF NOT EXISTS learned_moments (
        id TEXT NOT NULL, line TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (id, line)) WITHOUT ROWID
    """

    def learn(self, lore_id: str, lines: Iterable[str], now: float) -> None:
        """Record moments of an entry, for half a year; delete the oldest beyond four. Raises StoreError."""
        found = [*lines]
        if found:
            self._run("DELETE FROM learned_moments WHERE at < ?", (now - _MAX_AGE_SECONDS,))
        for line in found:
            self._run(_LEARN, (lore_id, line, now))
            self._run(
                "DELETE FROM learned_moments WHERE id = ? AND line NOT IN"
                " (SELECT line FROM learned_moments WHERE id = ? ORDER BY at DESC, line LIMIT ?)",
                (lore_id, lore_id, MOST),
            )

    def all(self) -> dict[str, list[str]]:
        """Return the moments by entry, both sorted. Raises StoreError."""
        found: dict[str, list[str]] = {}
        for lore_id, line in self._run("SELECT id, line FROM learned_moments ORDER BY id, line"):
            found.setdefault(lore_id, []).append(line)
        return found

    def forget(self, lore_id: str) -> None:
        """Delete the moments of an entry. Raises StoreError."""
        self._run("DELETE FROM learned_moments WHERE id = ?", (lore_id,))
