"""The memory of hooks between their calls: events answered, lore shown, questions asked, lore captured, transcripts.

A table of marks in the state database of the store.
"""

from __future__ import annotations

from engram.adapters.state.connection import StateTable

ANSWERED, SHOWN, RECALLED, ASKED, CAPTURED = "answered", "shown", "recalled", "asked", "captured"
FAILED = "failed"  # the key is the command or tool that failed, and the id of the captured entry
PASSED = "passed"  # the key is the id of the captured entry
CHANGED = "changed"  # the key is the path of a file
LEFT = "left"  # a question for the next prompt
MOMENT = "moment"  # entries shown because an event fitted `when`
NAMED = "named"  # entries shown or named because an event was about one of their files
AT = "at"  # the key is the id of an entry that was shown, and a moment that the event fits
TRANSCRIPT = "transcript"  # the key is its path


class HookMemory(StateTable):
    """Marks by kind, session and key, each with the moment it was made (Unix seconds)."""

    SCHEMA = """
    CREATE TABLE IF NOT EXISTS hook_marks (
        kind TEXT NOT NULL, session TEXT NOT NULL, key TEXT NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (kind, session, key)) WITHOUT ROWID
    """

    def mark(self, kind: str, session: str, key: str, now: float, *, anew_after: float = -1.0) -> bool:
        """Make a mark; return False if it exists. A mark older than `anew_after` seconds counts as none.

        Of several processes that make the same mark at once, exactly one gets True.
        """
        before = now - anew_after if anew_after >= 0 else -1.0
        query = (
            "INSERT INTO hook_marks (kind, session, key, at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET at = excluded.at WHERE hook_marks.at < ? RETURNING 1"
        )
        return bool(self._run(query, (kind, session, key, now, before)))

    def marked(self, kind: str, session: str) -> set[str]:
        """Return the keys of a session's marks of this kind."""
        rows = self._run("SELECT key FROM hook_marks WHERE kind = ? AND session = ?", (kind, session))
        return {key for (key,) in rows}

    def times(self, kind: str, session: str) -> dict[str, float]:
        """Return the keys of a session's marks of this kind with their times, the oldest first."""
        query = "SELECT key, at FROM hook_marks WHERE kind = ? AND session = ? ORDER BY at, key"
        return dict(self._run(query, (kind, session)))

    def marked_since(self, kind: str, session: str, since: float) -> list[str]:
        """Return the keys of a session's marks of this kind made since a time (Unix seconds), the oldest first."""
        return [key for key, at in self.times(kind, session).items() if at >= since]

    def count(self, kind: str, since: float, session: str = "") -> int:
        """Count the marks of this kind made since a time (Unix seconds), in all sessions or in one."""
        query = "SELECT count(*) FROM hook_marks WHERE kind = ? AND at >= ?"
        values: list[object] = [kind, since]
        if session:
            query += " AND session = ?"
            values.append(session)
        return int(self._run(query, values)[0][0])

    def forget(self, kind: str, session: str) -> None:
        """Delete a session's marks of this kind."""
        self._run("DELETE FROM hook_marks WHERE kind = ? AND session = ?", (kind, session))

    def prune(self, before: float) -> None:
        """Delete all marks made before a time (Unix seconds)."""
        self._run("DELETE FROM hook_marks WHERE at < ?", (before,))

    @property
    def is_on_disk(self) -> bool:
        """Return whether these marks are durable, so that the next process sees them."""
        self._run("SELECT 1")
        return self._state.is_on_disk
