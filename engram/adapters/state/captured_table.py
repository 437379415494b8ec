"""Entries that hooks captured and nobody has confirmed yet: private to this clone, each with an expiry time.

They are in the store's state database, not in its folder, so that no commit or sync can spread them.
"""

from __future__ import annotations

from engram.adapters.state.connection import StateTable


class CapturedTable(StateTable):
    """Captured entries by id, as the text of their files (`raw`), with their expiry in Unix seconds."""

    SCHEMA = """
    CREATE TABLE IF NOT EXISTS captured (id TEXT PRIMARY KEY, raw TEXT NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID
    """

    def add(self, lore_id: str, raw: str, expires_at: float, most: int) -> None:
        """Add an entry; delete the oldest beyond `most`."""
        self._run(
            "INSERT OR REPLACE INTO captured (id, raw, expires_at) VALUES (?, ?, ?)",
            (lore_id, raw, expires_at),
        )
        self._run(
            "DELETE FROM captured WHERE id NOT IN (SELECT id FROM captured ORDER BY id DESC LIMIT ?)", (most,)
        )

    def rows(self, now: float) -> list[tuple[str, str]]:
        """Return id and text of the entries that have not expired, newest first; delete the others."""
        rows = self._run("SELECT id, raw, expires_at FROM captured ORDER BY id DESC")
        # Delete only if needed, so that a query does not wait for the write lock.
        if any(expires_at <= now for _, _, expires_at in rows):
            self._run("DELETE FROM captured WHERE expires_at <= ?", (now,))
        return [(lore_id, raw) for lore_id, raw, expires_at in rows if expires_at > now]

    def remove(self, lore_id: str) -> bool:
        """Delete an entry; return False if there was none."""
        return bool(self._run("DELETE FROM captured WHERE id = ? RETURNING 1", (lore_id,)))
