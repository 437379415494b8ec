"""The history of all lore as a small SQLite file in the state folder: who changed what and when, by commit and entry.

It is a cache of git's history and may be deleted at any time. A process that writes to it holds the lock at `lock_path`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3

from engram.adapters.state.connection import connect, transaction, use_write_ahead_log
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

TableError = sqlite3.Error
MEMORY = ":memory:"
_FORMAT = 2
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE commits (
    number INTEGER PRIMARY KEY, oid TEXT NOT NULL UNIQUE, rank INTEGER NOT NULL, moment INTEGER NOT NULL,
    author TEXT NOT NULL, subject TEXT NOT NULL, op TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL,
    source TEXT NOT NULL, delta TEXT NOT NULL, machine TEXT NOT NULL);
CREATE INDEX commits_rank ON commits (rank, number);
CREATE TABLE events (
    number INTEGER NOT NULL, path TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, before TEXT NOT NULL,
    after TEXT NOT NULL, confidence_before INTEGER, confidence INTEGER, validations INTEGER, fields TEXT NOT NULL);
CREATE INDEX events_number ON events (number);
CREATE INDEX events_id ON events (id);
CREATE INDEX events_path ON events (path);
"""


class CommitRow(NamedTuple):
    """A commit that touched lore. `rank` orders commits by time, parents before children; times are in Unix seconds.

    `op`, `agent`, `session`, `source`, `delta` and `machine` are its trailers, "" if it lacks one.
    """

    oid: str
    rank: int
    moment: int
    author: str
    subject: str
    op: str
    agent: str
    session: str
    source: str
    delta: str
    machine: str


class EventRow(NamedTuple):
    """What a commit did to one entry: added, changed, moved, removed or merged it.

    `path` is git's, `id` is "" if the file had none, `before` has the blob ids in the parents that had the file, and
    `after` the new one ("": none). Confidence is in thousandths, None if there is no entry or it cannot be read.
    `fields` names the changed fields.
    """

    path: str
    id: str
    kind: str
    before: tuple[str, ...]
    after: str
    confidence_before: int | None
    confidence: int | None
    validations: int | None
    fields: tuple[str, ...]


class HistoryTable:
    """The open table. Every method may raise TableError if the file is damaged or the disk is full."""

    def __init__(self, path: str) -> None:
        """Open or create the table at `path`; MEMORY for one private to this process. Raises TableError."""
        self.is_private = path == MEMORY
        self._connection = connect(path, _prepare)

    def meta(self) -> dict[str, str]:
        """Return the facts noted about the whole table, such as `head`, the commit whose history it has."""
        return dict(self._connection.execute("SELECT key, value FROM meta"))

    def note(self, values: dict[str, str]) -> None:
        """Note facts about the whole table."""
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def highest_rank(self) -> int:
        """Return the rank of the newest commit; 0 in an empty table."""
        return int(self._connection.execute("SELECT coalesce(max(rank), 0) FROM commits").fetchone()[0])

    def ranks(self, oids: Iterable[str]) -> dict[str, int]:
        """Return the ranks of the known ones of these commits."""
        query = "SELECT oid, rank FROM commits WHERE oid = ?"
        found = (self._connection.execute(query, (oid,)).fetchone() for oid in oids)
        return dict(row for row in found if row)

    def last_id(self, path: str) -> str:
        """Return the id of the entry in a file when it could last be read; "" if unknown."""
        query = "SELECT id FROM events WHERE path = ? AND id != '' ORDER BY number DESC LIMIT 1"
        row = self._connection.execute(query, (path,)).fetchone()
        return row[0] if row else ""

    def last_elsewhere(self, lore_id: str, path: str) -> str:
        """Return the latest blob id of an entry at any other path; "" if there is none."""
        query = "SELECT after FROM events WHERE id = ? AND path != ? ORDER BY number DESC LIMIT 1"
        row = self._connection.execute(query, (lore_id, path)).fetchone()
        return row[0] if row else ""

    def add(self, rows: Sequence[tuple[CommitRow, Sequence[EventRow]]]) -> None:
        """Add commits with their events in one transaction; parents come first."""
        marks = ",".join("?" * (len(EventRow._fields) + 1))
        with transaction(self._connection):
            for commit, events in rows:
                number = self._connection.execute(
                    f"INSERT INTO commits ({', '.join(commit._fields)}) VALUES ({','.join('?' * len(commit))})",  # noqa: S608 - fixed names
                    commit,
                ).lastrowid
                values = [
                    (number, *event._replace(before=" ".join(event.before), fields=" ".join(event.fields)))  # type: ignore[arg-type]
                    for event in events
                ]
                self._connection.executemany(f"INSERT INTO events VALUES ({marks})", values)  # noqa: S608 - marks only

    def remove(self, oids: Iterable[str]) -> None:
        """Forget commits."""
        names = [(oid,) for oid in oids]
        where = "number IN (SELECT number FROM commits WHERE oid = ?)"
        with transaction(self._connection):
            self._connection.executemany(f"DELETE FROM events WHERE {where}", names)  # noqa: S608 - fixed text
            self._connection.executemany("DELETE FROM commits WHERE oid = ?", names)

    def of_lore(
        self, lore_id: str, path: str, limit: int, earlier: Sequence[tuple[str, str]] = ()
    ) -> list[tuple[CommitRow, EventRow]]:
        """Return the last events of an entry, newest first; for a file without an id those until it gets one.

        `earlier` has pairs of a commit and the path that the file had before it.
        """
        where = (
            "id = :id OR (id = '' AND path IN paths AND coalesce((SELECT later.id FROM events later "
            "WHERE later.path = events.path AND later.id != '' AND later.number > events.number "
            "ORDER BY later.number LIMIT 1), :id) = :id) OR (id = '' AND EXISTS (SELECT 1 FROM json_each(:earlier) "
            "JOIN commits moved ON moved.oid = json_extract(value, '$[0]') WHERE events.path = json_extract(value, '$[1]') "
            "AND (commits.rank, commits.number) < (moved.rank, moved.number)))"
        )
        paths = "WITH paths AS (SELECT path FROM events WHERE id = :id UNION SELECT :path) "
        values = {"id": lore_id, "path": path, "limit": limit, "earlier": json.dumps(list(earlier))}
        return self._newest(where, values, paths)

    def latest(self, limit: int, agent: str = "", since: float = 0) -> list[tuple[CommitRow, list[str]]]:
        """Return the last commits, newest first, with the ids of their entries; of an agent, since a time (Unix seconds)."""
        columns = ", ".join(CommitRow._fields)
        query = (
            f"SELECT {columns}, number FROM commits WHERE moment >= ? AND (? = '' OR agent = ?)"  # noqa: S608 - fixed names
            " ORDER BY rank DESC, number DESC LIMIT ?"
        )
        rows = self._connection.execute(query, (since, agent, agent, limit)).fetchall()
        ids = "SELECT DISTINCT id FROM events WHERE number = ? AND id != '' ORDER BY id"
        return [
            (CommitRow._make(row[:-1]), [lore_id for (lore_id,) in self._connection.execute(ids, row[-1:])])
            for row in rows
        ]

    def came_in(
        self, source: str, person: str, limit: int, oids: Sequence[str] | None = None
    ) -> list[tuple[CommitRow, EventRow]]:
        """Return the changes by clones other than `source` (in these commits, if given), newest first; also merges and folds.

        A commit that does not name its clone counts as another's if its author is not `person`.
        """
        where = (
            "id != '' AND (kind = 'merged' OR source NOT IN ('', :source) OR (source = '' AND author != :person) "
            "OR (source = :source AND subject LIKE 'fold: %')) "
            "AND (:oids IS NULL OR oid IN (SELECT value FROM json_each(:oids)))"
        )
        named = None if oids is None else json.dumps(list(oids))
        return self._newest(where, {"source": source, "person": person, "limit": limit, "oids": named})

    def _newest(
        self, where: str, values: dict[str, object], tables: str = ""
    ) -> list[tuple[CommitRow, EventRow]]:
        query = (
            f"{tables}SELECT {', '.join([*CommitRow._fields, *EventRow._fields])} FROM events"  # noqa: S608 - fixed names
            f" JOIN commits USING (number) WHERE {where} ORDER BY rank DESC, number DESC LIMIT :limit"
        )
        width = len(CommitRow._fields)
        rows = self._connection.execute(query, values)
        return [(CommitRow._make(row[:width]), _event(row[width:])) for row in rows]

    def machines(self) -> dict[str, str]:
        """Return the names of machines by the short ids of their clones, according to the newest commit of each."""
        query = (
            "SELECT source, machine FROM commits WHERE source != '' AND machine != '' ORDER BY rank, number"
        )
        return dict(self._connection.execute(query))

    def added_by(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the author (`name <email>`) of the first commit with each of these entries, except folds."""
        query = (
            "SELECT author FROM events JOIN commits USING (number) WHERE id = ? AND kind = 'added' "
            "AND subject NOT LIKE 'fold: %' ORDER BY rank, number LIMIT 1"
        )
        found = ((lore_id, self._connection.execute(query, (lore_id,)).fetchone()) for lore_id in ids)
        return {lore_id: row[0] for lore_id, row in found if row}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _prepare(connection: sqlite3.Connection) -> None:
    run = connection.execute
    run("PRAGMA synchronous=OFF")  # it can be rebuilt from git
    version = run("PRAGMA user_version").fetchone()[0]
    if version == _FORMAT:
        return
    if version:
        raise sqlite3.DatabaseError(f"a table of another version ({version})")
    use_write_ahead_log(connection)
    with transaction(connection):
        if run("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _SCHEMA.split(";"):
                run(statement)
            run(f"PRAGMA user_version={_FORMAT}")


def table_path(state: str) -> str:
    """Return the path of the table in a state folder."""
    return os.path.join(state, "history.db")


def lock_path(state: str) -> str:
    """Return the path of the lock for writers of the table."""
    return os.path.join(state, "history.lock")


def discard(path: str) -> None:
    """Delete a table, which can be rebuilt from git. Raises OSError."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def _event(row: Sequence[Any]) -> EventRow:
    found = EventRow._make(row)
    return found._replace(before=tuple(row[3].split()), fields=tuple(row[8].split()))
