"""Answers to calls with an idempotency key, so that a repeated call gets the same answer and does nothing."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3

    from engram.adapters.state.durable import DurableDatabase

SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, request TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL,
    size INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS answers (number INTEGER PRIMARY KEY, answer TEXT NOT NULL);
"""
KEPT_SECONDS = 24 * 3600.0
MOST_KEYS = 10_000
MOST_CHARACTERS = 64 * 1024 * 1024
_TRIM_INTERVAL = 64  # new keys between two trims, since counting all takes some milliseconds
_TOO_MANY = """
SELECT max(number) FROM (
    SELECT number, sum(size) OVER latest AS total, row_number() OVER latest AS place
    FROM keys WINDOW latest AS (ORDER BY number DESC)) WHERE total > ? OR place > ?
"""


class KeptCall(NamedTuple):
    """A call: the digest of the request, the id of the entry it makes, and the answer (None: not known)."""

    request: str
    id: str
    answer: str | None


class KeyTable:
    """The calls of one clone by key, for 24 hours: at most 10,000, with 64 million characters of answers."""

    def __init__(self, database: DurableDatabase) -> None:
        """`database` has the tables of SCHEMA."""
        self._database = database

    def find(self, key: str, now: float) -> KeptCall | None:
        """Return the call with this key if it has not expired at `now` (Unix seconds). Raises StoreError."""
        query = (
            "SELECT request, id, answer FROM keys LEFT JOIN answers USING (number) WHERE key = ? AND at > ?"
        )
        values = (key, now - KEPT_SECONDS)
        row = self._database.transact(lambda connection: connection.execute(query, values).fetchone())
        return None if row is None else KeptCall._make(row)

    def begin(self, key: str, request: str, lore_id: str, now: float) -> KeptCall:
        """Note a call before it is carried out. Raises StoreError."""

        def note(connection: sqlite3.Connection) -> None:
            _remove(connection, "key = ? OR at <= ?", (key, now - KEPT_SECONDS))
            values = (key, request, lore_id, now)
            number = connection.execute(
                "INSERT INTO keys (key, request, id, at) VALUES (?, ?, ?, ?)", values
            ).lastrowid
            if number is not None and number % _TRIM_INTERVAL == 0:
                last = connection.execute(_TOO_MANY, (MOST_CHARACTERS, MOST_KEYS)).fetchone()[0]
                _remove(connection, "number <= ?", (last or 0,))

        self._database.transact(note)
        return KeptCall(request, lore_id, None)

    def finish(self, key: str, answer: str) -> None:
        """Record the answer to a call. Raises StoreError."""

        def keep(connection: sqlite3.Connection) -> None:
            query = "INSERT OR REPLACE INTO answers SELECT number, ? FROM keys WHERE key = ?"
            connection.execute(query, (answer, key))
            connection.execute("UPDATE keys SET size = ? WHERE key = ?", (len(answer), key))

        self._database.transact(keep)

    def forget(self, key: str) -> None:
        """Delete a call that did nothing. Raises StoreError."""
        self._database.transact(lambda connection: _remove(connection, "key = ?", (key,)))

    def count(self) -> int:
        """Return the number of calls. Raises StoreError."""
        query = "SELECT count(*) FROM keys"
        return int(self._database.transact(lambda connection: connection.execute(query).fetchone()[0]))


def _remove(connection: sqlite3.Connection, where: str, values: tuple[object, ...]) -> None:
    query = f"DELETE FROM answers WHERE number IN (SELECT number FROM keys WHERE {where})"  # noqa: S608
    connection.execute(query, values)
    connection.execute(f"DELETE FROM keys WHERE {where}", values)  # noqa: S608
