"""The SQLite file of a store for data private to this clone: refs of sessions, own votes, retrievals, feedback.

Losing it loses convenience, never lore, so errors in it stop nothing.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from types import MappingProxyType

from engram.adapters.state import activity_table
from engram.adapters.state.activity_table import QUERY, ActivityLine, ActivityTable
from engram.adapters.state.connection import StateConnection, busy_error, transaction, use_write_ahead_log
from engram.domain.entry.confidence import Vote
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.state.tombstones import Tombstones
    from engram.adapters.state.trust_tables import TrustTables

NOWHERE: Mapping[str, str] = MappingProxyType({})
_IDLE_SECONDS = 12 * 3600
_USE_INTERVAL_SECONDS = 60  # the use of a session is recorded at most this often
_FORMAT = 8
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
_ADD_REF = "INSERT INTO refs (session, number, id, title, at, scope) VALUES (?, ?, ?, ?, ?, ?)"


class Ref(NamedTuple):
    """An entry shown in a session under a short name (`L1` has number 1). `at` is in Unix seconds.

    `scope` is the scope it was last shown from, "" for the store whose state this is.
    """

    number: int
    id: str
    title: str
    at: float
    scope: str = ""

    @property
    def name(self) -> str:
        """The short name: `L1`, `L2`, …"""
        return f"L{self.number}"


class StateDatabase(StateConnection):
    """The database in a store's state folder."""

    def __init__(self, folder: str, report: Callable[[str], object] = str) -> None:
        """Open nothing yet. `folder` is absolute and exists."""
        super().__init__(os.path.join(folder, "state.db"), _prepare, report)

    def refs(self, session: str) -> list[Ref]:
        """Return the refs of a session, in order."""
        rows = self.run(
            "SELECT number, id, title, at, scope FROM refs WHERE session = ? ORDER BY number", (session,)
        )
        return [Ref._make(row) for row in rows]

    def ref(self, session: str, *, number: int = 0, lore_id: str = "") -> Ref | None:
        """Return the ref of a session with this number or id; None if there is none."""
        condition, value = ("number = ?", number) if number else ("id = ?", lore_id)
        query = f"SELECT number, id, title, at, scope FROM refs WHERE session = ? AND {condition}"  # noqa: S608 - one of two
        return next(map(Ref._make, self.run(query, (session, value))), None)

    def surface(
        self, session: str, shown: Sequence[tuple[str, str]], now: float, scopes: Mapping[str, str] = NOWHERE
    ) -> dict[str, str]:
        """Assign each (id, title) its ref in the session, or return the existing one: id → `L1`.

        `scopes` has, by id, the scope of entries that are not from the store whose state this is.
        """
        return self.work(lambda connection: _surface(connection, session, shown, now, scopes))

    def has_judged(self, session: str, lore_id: str, kind: str) -> bool:
        """Return whether this session already gave this feedback on this entry."""
        query = "SELECT 1 FROM feedback WHERE session = ? AND id = ? AND kind = ?"
        return bool(self.run(query, (session, lore_id, kind)))

    def record_feedback(self, session: str, lore_id: str, kind: str, now: float) -> None:
        """Record feedback."""
        self.run(
            "INSERT OR REPLACE INTO feedback (session, id, kind, at) VALUES (?, ?, ?, ?)",
            (session, lore_id, kind, now),
        )

    def forget_judgement(self, session: str, lore_id: str, kind: str) -> None:
        """Delete reverted feedback of a session ("": of any), so that it can be given again."""
        query = "DELETE FROM feedback WHERE ? IN (session, '') AND id = ? AND kind = ?"
        self.run(query, (session, lore_id, kind))

    def own_votes(self) -> dict[str, Vote]:
        """Return this clone's votes from versions of format 1, by entry."""
        return {row[0]: Vote(*row[1:]) for row in self.run("SELECT id, up, down, n FROM votes")}

    def forget_votes(self) -> None:
        """Delete the votes of format 1, which the ledger has now."""
        self.run("DELETE FROM votes")

    @property
    def tombstones(self) -> Tombstones:
        """The tombstones of deleted entries."""
        from engram.adapters.state.tombstones import Tombstones

        return Tombstones(self)

    @property
    def live(self) -> ActivityTable:
        """The activity log of all actions."""
        return ActivityTable(self)

    def retrievals(self, limit: int = 100) -> list[ActivityLine]:
        """Return the latest queries, newest first."""
        return self.live.latest(limit, QUERY)

    def used_since(self, moment: float) -> set[str]:
        """Return the ids of entries that were shown, or got feedback, since `moment` (Unix seconds)."""
        judged = self.run("SELECT id FROM feedback WHERE at >= ?", (moment,))
        return self.live.shown_since(moment) | {row[0] for row in judged}

    def set_aside(self, now: float) -> dict[str, str]:
        """Return the snoozed items of the review queue, each with the mark it had when it was snoozed."""
        rows = self.run("SELECT item, mark FROM set_aside WHERE until IS NULL OR until > ?", (now,))
        return {row[0]: row[1] for row in rows}

    def put_aside(self, item: str, mark: str, until: float | None) -> None:
        """Snooze an item until a time in Unix seconds (None: as long as its mark stays the same)."""
        self.run("INSERT OR REPLACE INTO set_aside (item, mark, until) VALUES (?, ?, ?)", (item, mark, until))

    def copy_to(self, folder: str) -> None:
        """Replace the database of another state folder with a copy of this one. Raises StoreError."""
        self.live.flush()
        if not os.path.exists(self.path):
            return
        path = os.path.join(folder, os.path.basename(self.path))
        try:
            with closing(sqlite3.connect(self.path)) as ours, closing(sqlite3.connect(path)) as theirs:
                ours.backup(theirs)
        except sqlite3.Error as error:
            raise busy_error(self.path, error) from None

    @property
    def trust(self) -> TrustTables:
        """The tables about trust."""
        from engram.adapters.state.trust_tables import TrustTables

        return TrustTables(self)


def _prepare(connection: sqlite3.Connection) -> None:
    """Create or upgrade the tables. Raises sqlite3.Error."""
    from engram.adapters.state import salvage, trust_tables  # only a new file needs them

    connection.execute("PRAGMA synchronous=OFF")  # a power cut may lose convenience, never lore
    if _version(connection) >= _FORMAT:
        return
    use_write_ahead_log(connection)
    path, is_whole = str(connection.execute("PRAGMA database_list").fetchone()[2]), False
    with transaction(connection):
        if (version := _version(connection)) < _FORMAT:  # else another process was faster
            for statement in _schema().split(";"):
                connection.execute(statement)
            # Earlier versions had one scope only.
            if all(row[1] != "scope" for row in connection.execute("PRAGMA table_info(refs)")):
                connection.execute("ALTER TABLE refs ADD COLUMN scope TEXT NOT NULL DEFAULT ''")
            activity_table.add_columns(connection)
            if all(row[1] != "claims" for row in connection.execute("PRAGMA table_info(confirmed)")):
                for statement in trust_tables.ADD_CLAIMS:
                    connection.execute(statement)
            if 0 < version < 6:
                connection.execute(trust_tables.FROM_VOTES)
            is_whole = salvage.restore_rows(connection, path, _prepare)
            connection.execute(f"PRAGMA user_version={_FORMAT}")
    if is_whole:
        with suppress(OSError):
            salvage.discard(path)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _schema() -> str:
    """Return the statements that create every table of the file."""
    from engram.adapters.state import tombstones, trust_tables

    return _SCHEMA + activity_table.SCHEMA + tombstones.SCHEMA + trust_tables.SCHEMA


def _surface(
    connection: sqlite3.Connection,
    session: str,
    shown: Sequence[tuple[str, str]],
    now: float,
    scopes: Mapping[str, str],
) -> dict[str, str]:
    with transaction(connection):
        _begin_if_idle(connection, session, now)
        marks = ",".join("?" * len(shown))
        # Name the index: without it SQLite scans all refs of the session.
        query = f"SELECT id, number, scope FROM refs INDEXED BY refs_id WHERE session = ? AND id IN ({marks})"  # noqa: S608
        numbers: dict[str, int] = {}
        for lore_id, number, scope in connection.execute(
            query, (session, *[lore_id for lore_id, _ in shown])
        ).fetchall():
            numbers[lore_id] = number
            if scope != scopes.get(lore_id, ""):
                values = (scopes.get(lore_id, ""), session, number)
                connection.execute("UPDATE refs SET scope = ? WHERE session = ? AND number = ?", values)
        last = connection.execute("SELECT max(number) FROM refs WHERE session = ?", (session,)).fetchone()
        following = (last[0] or 0) + 1
        new = {lore_id: title for lore_id, title in shown if lore_id not in numbers}
        rows = [
            (session, number, *pair, now, scopes.get(pair[0], ""))
            for number, pair in enumerate(new.items(), following)
        ]
        connection.executemany(_ADD_REF, rows)
        numbers |= {lore_id: number for _, number, lore_id, *_ in rows}
    return {lore_id: f"L{numbers[lore_id]}" for lore_id, _ in shown}


def _begin_if_idle(connection: sqlite3.Connection, session: str, now: float) -> None:
    """Restart a session that was idle for 12 hours, since terminals and process ids are reused."""
    row = connection.execute("SELECT used FROM sessions WHERE name = ?", (session,)).fetchone()
    if row is None or now - row[0] > _IDLE_SECONDS:
        connection.execute("DELETE FROM refs WHERE session = ?", (session,))
        connection.execute("DELETE FROM feedback WHERE session = ?", (session,))
        connection.execute(
            "INSERT OR REPLACE INTO sessions (name, started, used) VALUES (?, ?, ?)", (session, now, now)
        )
    elif now - row[0] > _USE_INTERVAL_SECONDS:
        connection.execute("UPDATE sessions SET used = ? WHERE name = ?", (now, session))
