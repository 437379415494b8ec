"""The change feed: the changes of one clone's lore, numbered in the order they were noticed, for programs that keep a copy.

It has a row for each entry that exists or existed: the numbers of its last and first change, and the digest of its file.
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Mapping

SCHEMA = """
CREATE TABLE IF NOT EXISTS feed_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS feed (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, born INTEGER NOT NULL, at REAL NOT NULL,
    path TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS feed_number ON feed (number);
CREATE INDEX IF NOT EXISTS feed_at ON feed (at);
"""
MOST_GONE = 100_000
GONE, UNKNOWN = "", "?"  # in place of a digest


class Line(NamedTuple):
    """The last change of an entry: its number, the number of its first change, its path, whether it is deleted."""

    id: str
    number: int
    born: int
    path: str
    is_gone: bool


class Seen(NamedTuple):
    """The current digest of an entry's file (GONE: deleted), and since when (Unix seconds)."""

    id: str
    path: str
    digest: str
    at: float


class Feed:
    """The table, within a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """`connection` has the tables of SCHEMA."""
        self._connection = connection

    @property
    def name(self) -> str:
        """The name of this feed; "" if it was not begun."""
        return self._meta("name")

    def begin(self, name: str) -> None:
        """Set the name of the feed."""
        self._note("name", name)

    @property
    def mark(self) -> str:
        """The mark of the index when the feed was last brought up to date."""
        return self._meta("mark")

    def up_to_date(self, mark: str) -> None:
        """Record that the feed has every change in the index with this mark."""
        self._note("mark", mark)

    @property
    def snapshot_at(self) -> float:
        """The time of the latest snapshot (Unix seconds); 0 if there is none."""
        return float(self._meta("snapshot") or 0)

    def snapshot_taken(self, at: float) -> None:
        """Record the time of a snapshot (Unix seconds)."""
        self._note("snapshot", repr(at))

    @property
    def last(self) -> int:
        """The number of the latest change; 0 if there is none."""
        return int(self._connection.execute("SELECT coalesce(max(number), 0) FROM feed").fetchone()[0])

    @property
    def floor(self) -> int:
        """The number up to which some deletions have been forgotten."""
        return int(self._meta("floor") or 0)

    def known(self) -> dict[str, tuple[str, str]]:
        """Return the path and digest of every entry that exists or existed, by id."""
        lines = self._connection.execute("SELECT id, path, digest FROM feed")
        return {lore_id: (path, digest) for lore_id, path, digest in lines}

    def note(self, changes: Iterable[Seen]) -> None:
        """Number these changes in this order; times never decrease."""
        run = self._connection.execute
        last, at = self.last, float(run("SELECT coalesce(max(at), 0) FROM feed").fetchone()[0])
        rows = []
        for number, seen in enumerate(changes, last + 1):
            at = max(at, seen.at)
            rows.append((seen.id, number, number, at, seen.path, seen.digest))
        query = (
            "INSERT INTO feed VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET number = excluded.number,"
            " born = CASE digest WHEN '' THEN excluded.born ELSE born END, at = excluded.at,"
            " path = excluded.path, digest = excluded.digest"
        )
        self._connection.executemany(query, rows)
        self._forget_oldest()

    def doubt(self, ids: Collection[str]) -> None:
        """Forget the digests of these entries, so that they are reported as changed again."""
        if not ids:
            return
        self._connection.executemany(
            "UPDATE feed SET digest = ? WHERE id = ? AND digest != ''",
            [(UNKNOWN, lore_id) for lore_id in ids],
        )
        self.up_to_date("")

    def since(self, number: int, limit: int) -> list[Line]:
        """Return the entries changed after that number, in the order of their last changes; at most `limit` (-1: all)."""
        query = "SELECT id, number, born, path, digest FROM feed WHERE number > ? ORDER BY number LIMIT ?"
        lines = self._connection.execute(query, (number, limit))
        return [Line(lore_id, at, born, path, digest == GONE) for lore_id, at, born, path, digest in lines]

    def before(self, moment: float) -> int:
        """Return the number of the last change before a time (Unix seconds)."""
        query = "SELECT coalesce(max(number), 0) FROM feed WHERE at < ?"
        return int(self._connection.execute(query, (moment,)).fetchone()[0])

    def _forget_oldest(self) -> None:
        """Forget the oldest deletions beyond MOST_GONE."""
        run = self._connection.execute
        query = "SELECT number FROM feed WHERE digest = '' ORDER BY number DESC LIMIT 1 OFFSET ?"
        row = run(query, (MOST_GONE,)).fetchone()
        if row is not None:
            run("DELETE FROM feed WHERE digest = '' AND number <= ?", row)
            self._note("floor", str(row[0]))

    def _note(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO feed_meta VALUES (?, ?)", (key, value))

    def _meta(self, key: str) -> str:
        row = self._connection.execute("SELECT value FROM feed_meta WHERE key = ?", (key,)).fetchone()
        return "" if row is None else str(row[0])


def differences(known: Mapping[str, tuple[str, str]], current: Iterable[Seen]) -> list[Seen]:
    """Return the files whose path or digest the feed does not know."""
    return [seen for seen in current if known.get(seen.id) != (seen.path, seen.digest)]
