"""One small SQLite file per store for what is private to this clone: refs of sessions, own votes, retrievals, feedback.

Losing it loses convenience, never lore, so trouble with it stops nobody.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from types import MappingProxyType

from engram.adapters.state import activity_table
from engram.adapters.state.activity_table import QUERY, LiveEntry, LiveTable
from engram.domain.entry.confidence import Vote
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from engram.adapters.state.tombstones import GoneTable
    from engram.adapters.state.trust_tables import TrustTables

    T = TypeVar("T")

NOWHERE: Mapping[str, str] = MappingProxyType({})
_UNWRITABLE = ("unable to open", "readonly", "full", "disk I/O")
_IDLE_SECONDS = 12 * 3600
_NOTED_SECONDS = 60  # a session's use is not written down more often
_FORMAT = 6
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (name TEXT PRIMARY KEY, started REAL NOT NULL, used REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refs (
    session TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, at REAL NOT NULL,
    scope TEXT NOT NULL DEFAULT '', PRIMARY KEY (session, number)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS refs_id ON refs (session, id);
CREATE TABLE IF NOT EXISTS feedback (
    session TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (session, id, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS votes (id TEXT PRIMARY KEY, up INTEGER, down INTEGER, n INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS set_aside (item TEXT PRIMARY KEY, mark TEXT NOT NULL, until REAL) WITHOUT ROWID;
"""


class Ref(NamedTuple):
    """A lore surfaced in a session under a short name (`L1` has number 1). `at` is in Unix seconds.

    `scope` is where it was last surfaced from, "" for the store whose state this is.
    """

    number: int
    id: str
    title: str
    at: float
    scope: str = ""

    @property
    def name(self) -> str:
        """`L1`, `L2`, …"""
        return f"L{self.number}"


class StateDatabase:
    """The database in a store's state folder; opened on first use.

    A damaged file is put aside, and where none can be written the process makes do with its memory; `report`
    is then told a sentence for people. Only another process that holds the file for seconds is an error: StoreError.
    """

    def __init__(self, folder: str, report: Callable[[str], object] = str) -> None:
        """`folder` is absolute and exists."""
        self.path = os.path.join(folder, "state.db")
        self.lasts = True  # until it turns out that no file can be written
        self._report = report
        self._connection: sqlite3.Connection | None = None

    def refs(self, session: str) -> list[Ref]:
        """What a session was shown, in order."""
        rows = self._run(
            "SELECT number, id, title, at, scope FROM refs WHERE session = ? ORDER BY number", (session,)
        )
        return [Ref._make(row) for row in rows]

    def ref(self, session: str, *, number: int = 0, lore_id: str = "") -> Ref | None:
        """What a session was shown under this number, or of this lore; None where it was not."""
        condition, value = ("number = ?", number) if number else ("id = ?", lore_id)
        query = f"SELECT number, id, title, at, scope FROM refs WHERE session = ? AND {condition}"  # noqa: S608 - one of two
        return next(map(Ref._make, self._run(query, (session, value))), None)

    def surface(
        self, session: str, shown: Sequence[tuple[str, str]], now: float, scopes: Mapping[str, str] = NOWHERE
    ) -> dict[str, str]:
        """Give each (id, title) its ref in the session, old refs first; returns id → `L1`.

        `scopes` names, by id, the scope of what is not from the store whose state this is.
        """
        return self._heal(lambda connection: _surface(connection, session, shown, now, scopes))

    def has_judged(self, session: str, lore_id: str, kind: str) -> bool:
        """Whether this session already gave this feedback on this lore."""
        query = "SELECT 1 FROM feedback WHERE session = ? AND id = ? AND kind = ?"
        return bool(self._run(query, (session, lore_id, kind)))

    def judged(self, session: str, lore_id: str, kind: str, now: float) -> None:
        """Remember feedback that was given."""
        self._run("INSERT OR REPLACE INTO feedback VALUES (?, ?, ?, ?)", (session, lore_id, kind, now))

    def forget_judgement(self, session: str, lore_id: str, kind: str) -> None:
        """Forget feedback that was taken back, so that it can be given again."""
        query = "DELETE FROM feedback WHERE session = ? AND id = ? AND kind = ?"
        self._run(query, (session, lore_id, kind))

    def vote(self, lore_id: str) -> Vote:
        """All this clone ever voted on a lore, whatever branch is checked out now."""
        rows = self._run("SELECT up, down, n FROM votes WHERE id = ?", (lore_id,))
        return Vote(*rows[0]) if rows else Vote()

    def keep_vote(self, lore_id: str, vote: Vote) -> None:
        """Remember this clone's vote; a process that is late never takes back what a faster one remembered."""
        self._run(
            "INSERT INTO votes VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " up = max(up, excluded.up), down = max(down, excluded.down), n = max(n, excluded.n)",
            (lore_id, *vote),
        )

    @property
    def is_open(self) -> bool:
        """Whether this process uses the file already: opening it takes a record a millisecond."""
        return self._connection is not None

    @property
    def gone(self) -> GoneTable:
        """Which lore went, and when."""
        from engram.adapters.state.tombstones import GoneTable  # questions do without

        return GoneTable(self)

    @property
    def live(self) -> LiveTable:
        """The live record: all that was done."""
        return LiveTable(self)

    def retrievals(self, limit: int = 100) -> list[LiveEntry]:
        """The latest queries, newest first."""
        return self.live.latest(limit, QUERY)

    def used_since(self, moment: float) -> set[str]:
        """The ids of lore that a query showed, or a session gave feedback on, since then (Unix seconds)."""
        judged = self._run("SELECT id FROM feedback WHERE at >= ?", (moment,))
        return self.live.shown_since(moment) | {row[0] for row in judged}

    def set_aside(self, now: float) -> dict[str, str]:
        """Items of the review queue that are not asked about now, with what each was about when it was set aside."""
        rows = self._run("SELECT item, mark FROM set_aside WHERE until IS NULL OR until > ?", (now,))
        return {row[0]: row[1] for row in rows}

    def put_aside(self, item: str, mark: str, until: float | None) -> None:
        """Do not ask about an item until then (None: for as long as its mark is the same)."""
        self._run("INSERT OR REPLACE INTO set_aside VALUES (?, ?, ?)", (item, mark, until))

    def count_retrievals(self) -> int:
        """How many queries the log holds."""
        return self.live.count(QUERY)

    def copy_to(self, folder: str) -> None:
        """Write all there is into the database of another store's state folder, in place of what is there.

        Raises StoreError.
        """
        self.live.settle()
        if not os.path.exists(self.path):
            return
        path = os.path.join(folder, os.path.basename(self.path))
        try:
            with closing(sqlite3.connect(self.path)) as ours, closing(sqlite3.connect(path)) as theirs:
                ours.backup(theirs)
        except sqlite3.Error as error:
            raise _refused(self.path, error) from None

    def work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something of one's own with the database (a table that only hooks know). Raises StoreError."""
        return self._heal(work)

    @property
    def trust(self) -> TrustTables:
        """The tables that are about trust."""
        from engram.adapters.state.trust_tables import TrustTables  # questions do without

        return TrustTables(self)

    def run(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement of this package."""
        return self._run(query, values)

    def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """One statement of this package for each row, all or none."""
        if rows:
            self._heal(lambda connection: _many(connection, query, rows))

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._heal(lambda connection: connection.execute(query, values).fetchall())

    def _heal(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work, with a new file where the old one is damaged, in memory where there can be no file."""
        for begin in (self._connect, self._begin_anew):
            try:
                if self._connection is None:
                    self._connection = begin()
                return work(self._connection)
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
                raise
            except sqlite3.Error as error:
                self.close()
                if any(word in str(error) for word in ("locked", "busy")):
                    raise _refused(self.path, error) from None
                if any(word in str(error) for word in _UNWRITABLE):
                    break
        self.lasts = False
        self._connection = _prepared(
            sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        )
        self._report(f"{self.path} cannot be written: session refs and the live record end with this process")
        return work(self._connection)

    def _connect(self) -> sqlite3.Connection:
        return _prepared(
            sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=5.0)
        )

    def _begin_anew(self) -> sqlite3.Connection:
        """Put the damaged file aside and begin a new one. Raises sqlite3.Error."""
        try:
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(self.path + suffix):
                    os.replace(self.path + suffix, f"{self.path}{suffix}.damaged")
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from None
        self._report(
            f"session refs, the live record and the list of held lore were damaged and begin anew ({self.path}.damaged)"
        )
        return self._connect()


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The connection with its tables made; closed where that cannot be."""
    from engram.adapters.state import trust_tables  # only a new file needs it

    try:
        connection.execute("PRAGMA synchronous=OFF")  # losing it in a power cut loses convenience, never lore
        if (version := connection.execute("PRAGMA user_version").fetchone()[0]) != _FORMAT:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(f"BEGIN IMMEDIATE;{_schema()}")
            # Made by an earlier version, which knew of one scope alone.
            if all(row[1] != "scope" for row in connection.execute("PRAGMA table_info(refs)")):
                connection.execute("ALTER TABLE refs ADD COLUMN scope TEXT NOT NULL DEFAULT ''")
            activity_table.add_columns(connection)
            if 0 < version < 6:
                connection.execute(trust_tables.FROM_VOTES)
            connection.execute(f"PRAGMA user_version={_FORMAT}")
            connection.execute("COMMIT")  # executescript would commit before it
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _schema() -> str:
    """Every table of the file."""
    from engram.adapters.state import tombstones, trust_tables

    return _SCHEMA + activity_table.SCHEMA + tombstones.SCHEMA + trust_tables.SCHEMA


def _many(connection: sqlite3.Connection, query: str, rows: Sequence[Sequence[object]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(query, rows)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _surface(
    connection: sqlite3.Connection,
    session: str,
    shown: Sequence[tuple[str, str]],
    now: float,
    scopes: Mapping[str, str],
) -> dict[str, str]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        _begin_if_idle(connection, session, now)
        marks = ",".join("?" * len(shown))
        # Named, since SQLite goes through all refs of the session otherwise.
        query = f"SELECT id, number, scope FROM refs INDEXED BY refs_id WHERE session = ? AND id IN ({marks})"  # noqa: S608
        known: dict[str, int] = {}
        for lore_id, number, scope in connection.execute(
            query, (session, *[one for one, _ in shown])
        ).fetchall():
            known[lore_id] = number
            if scope != scopes.get(lore_id, ""):
                where = (scopes.get(lore_id, ""), session, number)
                connection.execute("UPDATE refs SET scope = ? WHERE session = ? AND number = ?", where)
        last = connection.execute("SELECT max(number) FROM refs WHERE session = ?", (session,)).fetchone()
        following = (last[0] or 0) + 1
        new = {lore_id: title for lore_id, title in shown if lore_id not in known}
        values = [
            (session, number, *pair, now, scopes.get(pair[0], ""))
            for number, pair in enumerate(new.items(), following)
        ]
        connection.executemany("INSERT INTO refs VALUES (?, ?, ?, ?, ?, ?)", values)
        known |= {lore_id: number for _, number, lore_id, *_ in values}
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return {lore_id: f"L{known[lore_id]}" for lore_id, _ in shown}


def _begin_if_idle(connection: sqlite3.Connection, session: str, now: float) -> None:
    """A session that nobody used for 12 hours starts anew (terminals and process ids come round again)."""
    row = connection.execute("SELECT used FROM sessions WHERE name = ?", (session,)).fetchone()
    if row is None or now - row[0] > _IDLE_SECONDS:
        connection.execute("DELETE FROM refs WHERE session = ?", (session,))
        connection.execute("DELETE FROM feedback WHERE session = ?", (session,))
        connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", (session, now, now))
    elif now - row[0] > _NOTED_SECONDS:
        connection.execute("UPDATE sessions SET used = ? WHERE name = ?", (now, session))


def _refused(path: str, error: sqlite3.Error) -> StoreError:
    return StoreError(f"{path} cannot be used now: {error}.", "Another process holds it; try again.")
