"""Entries that hooks captured and nobody confirmed yet: private to this clone, each with the moment at which it goes.

They lie in the state database of the store and not in its folder, so that no commit and no sync can carry them anywhere.
"""

from __future__ import annotations

from engram.adapters.state.connection import StateTable


class CapturedTable(StateTable):
    """Captured entries as files of lore (`raw`), by id, until they expire (Unix seconds)."""

    SCHEMA = """
    CREATE TABLE IF NOT EXISTS captured (id TEXT PRIMARY KEY, raw TEXT NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID
    """

    def add(self, lore_id: str, raw: str, expires_at: float, most: int) -> None:
        """Keep an entry; of more than `most` the oldest go."""
        self._run(
            "INSERT OR REPLACE INTO captured (id, raw, expires_at) VALUES (?, ?, ?)",
            (lore_id, raw, expires_at),
        )
        self._run(
            "DELETE FROM captured WHERE id NOT IN (SELECT id FROM captured ORDER BY id DESC LIMIT ?)", (most,)
        )

    def rows(self, now: float) -> list[tuple[str, str]]:
        """Return id and text of those that have not expired, newest first; the others are deleted."""
        rows = self._run("SELECT id, raw, expires_at FROM captured ORDER BY id DESC")
        # No query waits for a lock to write without need.
        if any(expires_at <= now for _, _, expires_at in rows):
            self._run("DELETE FROM captured WHERE expires_at <= ?", (now,))
        return [(lore_id, raw) for lore_id, raw, expires_at in rows if expires_at > now]

    def remove(self, lore_id: str) -> bool:
        """Delete one; False where it was gone."""
        return bool(self._run("DELETE FROM captured WHERE id = ? RETURNING 1", (lore_id,)))
