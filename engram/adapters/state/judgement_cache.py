"""A cache of all ledgers, by entry: which lines judge it, and what files of format 1 held of it.

It is made anew from the ledgers when it is lost.
"""

from __future__ import annotations

import os
from hashlib import blake2b

from engram.adapters.state.connection import StateConnection
from engram.domain.entry.confidence import Vote
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement, LegacyAccount, Said
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Mapping, Sequence

FILE = "judgements.db"
_FORMAT = 3
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledgers (
    number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mark TEXT NOT NULL, malformed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS lines (
    entry TEXT NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL, of TEXT NOT NULL, text TEXT NOT NULL,
    agent TEXT NOT NULL, client TEXT NOT NULL, ledger INTEGER NOT NULL, PRIMARY KEY (entry, id, source, ledger)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS accounts (
    entry TEXT NOT NULL, account TEXT NOT NULL, up INTEGER, down INTEGER, n INTEGER, at INTEGER, ledger INTEGER NOT NULL,
    PRIMARY KEY (entry, account, ledger)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS people (source TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (entry TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unreported (entry TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_TABLES = ("meta", "ledgers", "lines", "accounts", "people")  # made anew with each format
_LINE = "id, entry, kind, of, text, agent, source, client"
_AT_ONCE = 400


class Known(NamedTuple):
    """How much of a ledger was read: its size (bytes) and a mark that tells whether that part is still the same."""

    size: int
    mark: str


class OvertakenError(Exception):
    """Another process has read more of a ledger meanwhile."""


class JudgementCache:
    """The cache in a store's state folder. Entries whose judgements changed are `pending` until the index has them."""

    def __init__(self, folder: str) -> None:
        """Open nothing yet. `folder` is absolute and exists."""
        self._state = StateConnection(os.path.join(folder, FILE), _prepare)

    def close(self) -> None:
        """Close the file."""
        self._state.close()

    def meta(self, key: str) -> str:
        """Return a note of the cache, "" where there is none."""
        rows = self._state.run("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else ""

    def set_meta(self, key: str, value: str) -> None:
        """Keep a note."""
        self._state.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def known(self) -> dict[str, Known]:
        """Return how much was read of each ledger."""
        return {
            path: Known(size, mark)
            for path, size, mark in self._state.run("SELECT path, size, mark FROM ledgers")
        }

    def count(self) -> tuple[int, int]:
        """Count the lines, and those that could not be read."""
        query = "SELECT (SELECT count(*) FROM lines), coalesce(sum(malformed), 0) FROM ledgers"
        lines, malformed = self._state.run(query)[0]
        return lines, malformed

    def add(
        self,
        path: str,
        raw: bytes,
        source: str,
        known: Known,
        *,
        before: Known | None,
        whole: bool,
        erased: Collection[str] = (),
    ) -> None:
        """Add the lines of a ledger: all of them (`whole`), or what it grew by. `known` is what holds afterwards.

        Raises OvertakenError, and changes nothing, where what holds now is not `before`.
        """
        found = ledger.parse(raw, source)
        if erased:
            lines = [one for one in found.judgements if one.id not in erased and source not in erased]
            accounts = [one for one in found.accounts if one.id not in erased]
            found = found._replace(judgements=lines, accounts=accounts)
        self._state.work(lambda connection: _add(connection, path, found, known, whole, before))

    def forget(self, paths: Iterable[str]) -> None:
        """Forget ledgers that are gone."""
        nothing = ledger.Parsed([], [], 0)
        for path in paths:
            self._state.work(lambda connection, path=path: _add(connection, path, nothing, None, True))  # type: ignore[misc]

    def of(self, entries: Sequence[str]) -> Said:
        """Return everything that was said of these entries."""
        lines, accounts = list[Judgement](), list[LegacyAccount]()
        for start in range(0, len(entries), _AT_ONCE):
            some = entries[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            lines += map(
                Judgement._make,
                self._state.run(f"SELECT {_LINE} FROM lines WHERE entry IN ({marks})", some),  # noqa: S608 - marks alone
            )
            query = f"SELECT entry, account, up, down, n, at FROM accounts WHERE entry IN ({marks})"  # noqa: S608
            accounts += [
                LegacyAccount(row[0], row[1], Vote(*row[2:5]), row[5]) for row in self._state.run(query, some)
            ]
        return Said(lines, accounts)

    def names(self) -> Mapping[str, str]:
        """Return who the sources are that say so."""
        return dict(self._state.run("SELECT source, name FROM people"))

    def name(self, names: Mapping[str, str]) -> None:
        """Note who sources are ("": they do not say so any more)."""
        self._state.run_many("DELETE FROM people WHERE source = ?", [(source,) for source in names])
        known = [(source, name) for source, name in names.items() if name]
        self._state.run_many("INSERT INTO people VALUES (?, ?)", known)
        self.touch(names)

    def touch(self, sources: Iterable[str]) -> None:
        """Make the entries of which these sources said anything `pending`."""
        query = "INSERT OR IGNORE INTO pending SELECT DISTINCT entry FROM lines WHERE source = ?"
        self._state.run_many(query, [(source,) for source in sources])

    def entries(self) -> set[str]:
        """Return the entries of which anything was said."""
        query = "SELECT DISTINCT entry FROM lines UNION SELECT entry FROM accounts"
        return {entry for (entry,) in self._state.run(query)}

    def of_source(self, source: str) -> list[Judgement]:
        """Return all lines of a source, by id."""
        rows = self._state.run(f"SELECT DISTINCT {_LINE} FROM lines WHERE source = ? ORDER BY id", (source,))  # noqa: S608
        return [*map(Judgement._make, rows)]

    def of_account(self, name: str) -> list[LegacyAccount]:
        """Return the accounts of format 1 with a name, of all entries."""
        query = "SELECT entry, account, max(up), max(down), max(n), max(at) FROM accounts WHERE account = ? GROUP BY 1, 2"
        return [
            LegacyAccount(row[0], row[1], Vote(*row[2:5]), row[5]) for row in self._state.run(query, (name,))
        ]

    def latest(self, limit: int, agent: str, since: str) -> list[Judgement]:
        """Return the last lines of all sources, newest first: of an agent ("": any), with ids from `since` on."""
        query = (
            f"SELECT DISTINCT {_LINE} FROM lines WHERE id >= ? AND ? IN (agent, '') ORDER BY id DESC LIMIT ?"  # noqa: S608
        )
        return [*map(Judgement._make, self._state.run(query, (since, agent, limit)))]

    def pending(self) -> list[str]:
        """Return the entries whose judgements changed since the index was told."""
        return [entry for (entry,) in self._state.run("SELECT entry FROM pending")]

    def settle(self, entries: Collection[str]) -> None:
        """Note that the index has what was said of these entries."""
        self._state.run_many("DELETE FROM pending WHERE entry = ?", [(entry,) for entry in entries])

    def take_unreported(self) -> list[str]:
        """Return, once, the entries whose judgements changed, for programs that keep a copy."""
        return [entry for (entry,) in self._state.run("DELETE FROM unreported RETURNING entry")]


def content_mark(raw: bytes) -> str:
    """Return a mark for the bytes of a ledger."""
    return blake2b(raw, digest_size=16).hexdigest()


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous=OFF")  # it is made anew when it is lost
    if connection.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
        connection.execute("PRAGMA journal_mode=WAL")
        begun_anew = "".join(f"DROP TABLE IF EXISTS {table};" for table in _TABLES)
        connection.executescript(f"BEGIN IMMEDIATE;{begun_anew}{_SCHEMA}PRAGMA user_version={_FORMAT};COMMIT")


def _add(
    connection: sqlite3.Connection,
    path: str,
    found: ledger.Parsed,
    known: Known | None,
    whole: bool,
    before_it: Known | None = None,
) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        query = "SELECT number, malformed, size, mark FROM ledgers WHERE path = ?"
        row = connection.execute(query, (path,)).fetchone()
        if known is not None and (Known(*row[2:]) if row else None) != before_it:
            raise OvertakenError(path)
        number, malformed = row[:2] if row else (None, 0)
        before = set[tuple[object, ...]]()
        if number is not None and whole:
            before, malformed = _forget(connection, number), 0
        changed = {str(row[0]) for row in before ^ {*_rows(found)}}
        if known is None:
            connection.execute("DELETE FROM ledgers WHERE path = ?", (path,))
        else:
            done = connection.execute(
                "INSERT INTO ledgers (path, size, mark, malformed) VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE"
                " SET size = excluded.size, mark = excluded.mark, malformed = excluded.malformed RETURNING number",
                (path, *known, malformed + found.malformed),
            )
            number = done.fetchall()[0][0]
            _insert(connection, number, found)
        for table in ("pending", "unreported"):
            query = f"INSERT OR IGNORE INTO {table} VALUES (?)"  # noqa: S608 - one of two
            connection.executemany(query, [(entry,) for entry in changed])
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _rows(found: ledger.Parsed) -> list[tuple[object, ...]]:
    """Return what the tables have of these lines and accounts, but for their ledger."""
    lines = [
        (one.entry, one.id, one.source, one.kind, one.of, one.text, one.agent, one.client)
        for one in found.judgements
    ]
    larger = ledger.larger_accounts(found.accounts).values()
    return [*lines, *[(one.entry, one.account, *one.vote, one.at) for one in larger]]


def _forget(connection: sqlite3.Connection, number: int) -> set[tuple[object, ...]]:
    """Delete the lines and accounts of a ledger, and return them."""
    found = set[tuple[object, ...]]()
    for table in ("lines", "accounts"):
        query = f"DELETE FROM {table} WHERE ledger = ? RETURNING *"  # noqa: S608 - one of two
        found |= {row[:-1] for row in connection.execute(query, (number,)).fetchall()}
    return found


def _insert(connection: sqlite3.Connection, number: int, found: ledger.Parsed) -> None:
    rows = [(*row, number) for row in _rows(found)]
    lines, accounts = rows[: len(found.judgements)], rows[len(found.judgements) :]
    connection.executemany("INSERT OR IGNORE INTO lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", lines)
    connection.executemany(
        "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (entry, account, ledger) DO UPDATE SET"
        " up = max(up, excluded.up), down = max(down, excluded.down), n = max(n, excluded.n), at = max(at, excluded.at)",
        accounts,
    )
