"""A cache of all ledgers, by entry: the lines that judge it, and the accounts in files of format 1.

An entry has one row with all its lines as tab-separated text, in the order of their ids, so a query about an entry reads
one row, and a million lines are written as a hundred thousand rows. The cache can be rebuilt from the ledgers.
"""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import repeat

from engram.adapters.state.connection import StateConnection, transaction, use_write_ahead_log
from engram.domain.entry import ulid
from engram.domain.entry.confidence import Vote
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import EntryJudgements, Judgement, LegacyAccount
from engram.domain.judgements.tally import Sums
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Mapping, Sequence

FILE = "judgements.db"
_FORMAT = 6
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledgers (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mark TEXT NOT NULL, lines INTEGER NOT NULL, malformed INTEGER NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS said (entry TEXT PRIMARY KEY, last TEXT NOT NULL, lines TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sums (
    entry TEXT PRIMARY KEY, key TEXT NOT NULL, full INTEGER, count INTEGER, last INTEGER, believed INTEGER, modest INTEGER
    ) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS accounts (
    entry TEXT NOT NULL, account TEXT NOT NULL, up INTEGER, down INTEGER, n INTEGER, at INTEGER, ledger TEXT NOT NULL,
    PRIMARY KEY (entry, account, ledger)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS times (id TEXT, entry TEXT, at INTEGER NOT NULL, PRIMARY KEY (entry, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS signers (id TEXT, entry TEXT, signer TEXT NOT NULL, PRIMARY KEY (entry, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS people (source TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (entry TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unreported (entry TEXT PRIMARY KEY) WITHOUT ROWID;
"""
# Dropped and created anew with each format.
_TABLES = ("meta", "ledgers", "lines", "said", "sums", "times", "accounts", "signers", "people")
VERSION = "version"  # the key in `meta` of the number of writes
_ALL = "*"  # in place of an entry in `pending` or `unreported`: all entries with lines or accounts
_BATCH_SIZE = 400  # entries in one query
_OF_ENTRIES = (
    "SELECT entry, lines, NULL, NULL, NULL, NULL FROM said WHERE entry IN ({marks})"
    " UNION ALL SELECT entry, account, up, down, n, at FROM accounts WHERE entry IN ({marks})"
)
# Takes half the time of calling the class, for up to a hundred thousand entries in one query.
_new = tuple.__new__

_ENTRY, _LINE = slice(ulid.LENGTH), slice(ulid.LENGTH + 1, None)  # of a line after the id of its entry
_LAST_LETTER = slice(ulid.LENGTH - 1, ulid.LENGTH)  # of the id of its entry
_SOURCE = slice(ulid.LENGTH + 1, 2 * ulid.LENGTH + 1)  # of a line


class Known(NamedTuple):
    """How much of a ledger was read: its size in bytes, and its blob id or inode, which identifies that part."""

    size: int
    mark: str


class Read(NamedTuple):
    """A read of a ledger: all of it (`whole`), or the part added since `before`. `known` holds afterwards."""

    path: str
    source: str
    raw: bytes
    known: Known
    before: Known | None
    whole: bool


class Packed(NamedTuple):
    """The judgements of an entry, as text: unpacked, those of a few hundred entries would fill a processor's cache."""

    entry: str
    lines: str
    accounts: list[LegacyAccount]

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.lines or self.accounts)

    def unpack(self) -> EntryJudgements:
        """Return the lines and accounts."""
        return EntryJudgements(_parse_lines(self.entry, self.lines) if self.lines else [], self.accounts)


class OvertakenError(Exception):
    """Another process has read more of a ledger in the meantime."""


class JudgementCache:
    """The cache in a store's state folder. Entries with changed judgements are `pending` until the index has them."""

    def __init__(self, folder: str) -> None:
        """Open nothing yet. `folder` is absolute and exists."""
        self._state = StateConnection(os.path.join(folder, FILE), _prepare)

    @property
    def file(self) -> str:
        """The path of the database; "" if it is in memory."""
        return self._state.path if self._state.is_on_disk else ""

    def close(self) -> None:
        """Close the file."""
        self._state.close()

    def meta(self, key: str) -> str:
        """Return a value of the table `meta`, "" if there is none."""
        rows = self._state.run("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else ""

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of the table `meta`."""
        self._state.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def known(self) -> dict[str, Known]:
        """Return how much was read of each ledger."""
        return {
            path: Known(size, mark)
            for path, size, mark in self._state.run("SELECT path, size, mark FROM ledgers")
        }

    def count(self) -> tuple[int, int]:
        """Return the number of lines, and of malformed ones."""
        query = "SELECT coalesce(sum(lines), 0), coalesce(sum(malformed), 0) FROM ledgers"
        lines, malformed = self._state.run(query)[0]
        return lines, malformed

    def add(self, reads: Iterable[Read], erased: Collection[str] = ()) -> None:
        """Add the lines of ledgers, except those with `erased` ids or sources.

        Raises OvertakenError, and changes nothing, if more or less of a ledger is known than `before` says.
        """
        batch = _Batch()
        for read in reads:
            batch.add(read, erased)
        self._state.work(batch.write)

    def forget(self, paths: Iterable[str]) -> None:
        """Remove the lines of deleted ledgers."""
        batch = _Batch()
        batch.deleted += paths
        if batch.deleted:
            self._state.work(batch.write)

    def of(self, entries: Sequence[str]) -> EntryJudgements:
        """Return all lines, each once, and accounts about these entries; the lines of one entry are sorted by id."""
        lines, accounts = list[Judgement](), list[LegacyAccount]()
        for start in range(0, len(entries), _BATCH_SIZE):
            batch = entries[start : start + _BATCH_SIZE]
            query = _OF_ENTRIES.format(marks=",".join("?" * len(batch)))
            for entry, text, up, down, n, at in self._state.run(query, [*batch, *batch]):
                if up is None:
                    lines += _distinct_lines(entry, text)
                else:
                    accounts.append(LegacyAccount(entry, text, Vote(up, down, n), at))
        return EntryJudgements(lines, accounts)

    def by_entry(self, entries: Sequence[str]) -> dict[str, Packed]:
        """Return the lines and accounts of each of these entries; a line in two ledgers is there twice."""
        found = {entry: Packed(entry, "", []) for entry in entries}
        query = _OF_ENTRIES.format(marks=",".join("?" * len(entries)))
        for entry, text, up, down, n, at in self._state.run(query, [*entries, *entries]):
            if up is None:
                found[entry] = Packed(entry, text, [])
            else:
                found[entry].accounts.append(LegacyAccount(entry, text, Vote(up, down, n), at))
        return found

    def sums(self, entries: Sequence[str]) -> dict[str, tuple[str, Sums]]:
        """Return the cached sums of these entries that are still valid, and the keys they were cached under."""
        query = f"SELECT * FROM sums WHERE entry IN ({','.join('?' * len(entries))})"  # noqa: S608 - marks alone
        return {row[0]: (row[1], Sums._make(row[2:])) for row in self._state.run(query, entries)}

    def keep_times(self, lines: Iterable[tuple[str, str, int]]) -> None:
        """Record when lines arrived whose own time is wrong (id, entry, Unix ms); entries with new ones become `pending`."""
        known = dict(self._state.run("SELECT id, at FROM times"))
        new = [one for one in lines if known.get(one[0]) != one[2]]
        self._state.run_many("INSERT OR REPLACE INTO times VALUES (?, ?, ?)", new)
        for table in ("pending", "unreported"):
            query = f"INSERT OR IGNORE INTO {table} VALUES (?)"  # noqa: S608 - one of two
            self._state.run_many(query, [(entry,) for _, entry, _ in new])

    def times_of(self, entries: Sequence[str]) -> list[tuple[str, str, int]]:
        """Return the arrival of lines of these entries whose own time is wrong: id, entry, Unix ms."""
        query = f"SELECT id, entry, at FROM times WHERE entry IN ({','.join('?' * len(entries))})"  # noqa: S608 - marks alone
        return self._state.run(query, entries)

    def drop_times(self, until: str) -> None:
        """Delete the arrivals of lines, with ids up to `until`, whose own time has passed; their entries become `pending`."""
        found = self._state.run("SELECT id, entry, at FROM times WHERE id <= ?", (until,))
        passed = [(line_id, entry) for line_id, entry, at in found if at <= ulid.milliseconds(line_id)]
        self._state.run_many("INSERT OR IGNORE INTO pending VALUES (?)", [(entry,) for _, entry in passed])
        self._state.run_many("DELETE FROM times WHERE id = ? AND entry = ?", passed)

    def sign(self, lines: Iterable[tuple[str, str, str]]) -> None:
        """Record the signers of lines (id, entry, signer) unless known; their entries become `pending`."""
        rows = list(lines)
        self._state.run_many("INSERT OR IGNORE INTO signers VALUES (?, ?, ?)", rows)
        self._state.run_many("INSERT OR IGNORE INTO pending VALUES (?)", [(entry,) for _, entry, _ in rows])

    def forget_signers(self) -> None:
        """Delete all signers, since the trusted ones changed; all entries become `pending`."""
        self._state.run("DELETE FROM signers")
        self._state.run("INSERT OR IGNORE INTO pending VALUES (?)", (_ALL,))

    def signers(self, entries: Sequence[str]) -> dict[str, str]:
        """Return the signers of the lines of these entries, by line id."""
        query = f"SELECT id, signer FROM signers WHERE entry IN ({','.join('?' * len(entries))})"  # noqa: S608 - marks alone
        return dict(self._state.run(query, entries))

    def version(self) -> str:
        """Return the version of the cache, which every write of lines changes."""
        return self.meta(VERSION)

    def keep_sums(self, found: Sequence[tuple[str, str, Sums]], version: str) -> None:
        """Cache the sums of entries (id, key, sums), unless the cache has changed since `version`."""

        def write(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                row = connection.execute("SELECT value FROM meta WHERE key = ?", (VERSION,)).fetchone()
                if (row[0] if row else "") == version:
                    rows = sorted([(entry, key, *sums) for entry, key, sums in found])
                    connection.executemany("INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

        self._state.work(write)

    def names(self) -> Mapping[str, str]:
        """Return the names of the sources that have one."""
        return dict(self._state.run("SELECT source, name FROM people"))

    def name(self, names: Mapping[str, str]) -> None:
        """Record the names of sources ("": no longer named)."""
        self._state.run_many("DELETE FROM people WHERE source = ?", [(source,) for source in names])
        known = [(source, name) for source, name in names.items() if name]
        self._state.run_many("INSERT INTO people VALUES (?, ?)", known)
        self.touch(names)

    def touch(self, sources: Iterable[str]) -> None:
        """Make the entries with lines of these sources `pending`."""
        query = "INSERT OR IGNORE INTO pending SELECT entry FROM said WHERE instr(lines, ?)"
        self._state.run_many(query, [(f"\t{source}\t",) for source in sources])

    def entries(self) -> set[str]:
        """Return the entries with lines or accounts."""
        query = "SELECT entry FROM said UNION SELECT entry FROM accounts"
        return {entry for (entry,) in self._state.run(query)}

    def of_source(self, source: str) -> list[Judgement]:
        """Return all lines of a source, sorted by id."""
        rows = self._state.run("SELECT entry, lines FROM said WHERE instr(lines, ?)", (f"\t{source}\t",))
        return sorted([line for row in rows for line in _distinct_lines(*row) if line.source == source])

    def of_account(self, name: str) -> list[LegacyAccount]:
        """Return the accounts of format 1 with this name, for all entries."""
        query = "SELECT entry, account, max(up), max(down), max(n), max(at) FROM accounts WHERE account = ? GROUP BY 1, 2"
        return [
            LegacyAccount(row[0], row[1], Vote(*row[2:5]), row[5]) for row in self._state.run(query, (name,))
        ]

    def latest(self, limit: int, agent: str, since: str) -> list[Judgement]:
        """Return the last lines of all sources, newest first: by an agent ("": any), with ids from `since` on."""
        found = list[Judgement]()

        def read(connection: sqlite3.Connection) -> None:
            found.clear()
            query = "SELECT last, entry, lines FROM said WHERE last >= ? ORDER BY last DESC"
            for last, entry, text in connection.execute(query, (since,)):
                found.sort(reverse=True)
                if len(found) >= limit and found[limit - 1].id > last:
                    return
                lines = _distinct_lines(entry, text)
                found.extend([line for line in lines if line.id >= since and agent in ("", line.agent)])

        self._state.work(read)
        return sorted(found, reverse=True)[:limit]

    def pending(self) -> list[str]:
        """Return the entries whose judgements changed since the index was updated."""
        return self._entries_of("SELECT entry FROM pending")

    def settle(self, entries: Collection[str]) -> None:
        """Record that the index has the judgements of these entries, which `pending` returned."""
        self._state.run_many("DELETE FROM pending WHERE entry = ?", [(entry,) for entry in entries])

    def take_unreported(self) -> list[str]:
        """Return, once, the entries whose judgements changed, for programs that keep a copy."""
        entries = self._entries_of("DELETE FROM unreported RETURNING entry")
        return [entry for entry in entries if entry != _ALL]

    def _entries_of(self, query: str) -> list[str]:
        found = [entry for (entry,) in self._state.run(query)]
        return sorted({*found, *self.entries()}) if _ALL in found else found


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous=OFF")  # it can be rebuilt
    if connection.execute("PRAGMA user_version").fetchone()[0] == _FORMAT:
        return
    use_write_ahead_log(connection)
    with transaction(connection):
        # Unless another process was faster.
        if connection.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            for statement in (*(f"DROP TABLE IF EXISTS {table}" for table in _TABLES), *_SCHEMA.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_FORMAT}")


class _Batch:
    """Lines of any number of ledgers, which are written by entry in one transaction."""

    def __init__(self) -> None:
        self.deleted: list[str] = []
        self._reads: list[tuple[Read, int, int]] = []  # with the numbers of lines and of malformed ones
        # Lines, each after the id of its entry, by the last letter of that id: grouping a million lines by entry takes a
        # third less time in parts of a few thousand entries, which fit into a processor's cache.
        self._parts = defaultdict[str, list[str]](list)
        self._accounts: list[tuple[object, ...]] = []

    def add(self, read: Read, erased: Collection[str]) -> None:
        """Add the lines and accounts of a read."""
        usual, others = ledger.split(read.raw) if read.source else ([], read.raw.split(b"\n"))
        found = ledger.parse(b"\n".join(others), read.source)
        lines = [row for row in usual if row[0]] if others else usual
        lines += [(*line[:6], line.client, "") for line in found.judgements]
        accounts = found.accounts
        if erased:
            lines = [] if read.source in erased else [line for line in lines if line[0] not in erased]
            accounts = [account for account in accounts if account.id not in erased]
        if lines:
            # There may be a million lines: column by column this takes half the time.
            ids, entries, *rest, _ = zip(*lines, strict=True)
            columns = entries, ids, repeat(read.source), *rest, repeat(_ledger_mark(read.path))
            parts = self._parts
            for text in map("\t".join, zip(*columns)):  # noqa: B905
                parts[text[_LAST_LETTER]].append(text)
        self._accounts += [
            (account.entry, account.account, *account.vote, account.at, read.path)
            for account in ledger.larger_accounts(accounts).values()
        ]
        self._reads.append((read._replace(raw=b""), len(lines), found.malformed))

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the batch, and record which entries changed. Raises OvertakenError."""
        with transaction(connection):
            self._write(connection)

    def _write(self, connection: sqlite3.Connection) -> None:
        query = "SELECT size, mark FROM ledgers WHERE path = ?"
        for read, _, _ in self._reads:
            row = connection.execute(query, (read.path,)).fetchone()
            if (Known(*row) if row else None) != read.before:
                raise OvertakenError(read.path)
        is_first = connection.execute("SELECT NOT EXISTS (SELECT 1 FROM ledgers)").fetchone()[0]
        replaced = [*self.deleted, *[read.path for read, _, _ in self._reads if read.before and read.whole]]
        changed = self._change_accounts(connection, replaced)
        changed += self._change_lines(connection, replaced, is_first=is_first)
        connection.executemany("DELETE FROM ledgers WHERE path = ?", [(path,) for path in self.deleted])
        connection.executemany(
            "INSERT INTO ledgers VALUES (?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET size = excluded.size,"
            " mark = excluded.mark, lines = excluded.lines + CASE WHEN ? THEN 0 ELSE lines END,"
            " malformed = excluded.malformed + CASE WHEN ? THEN 0 ELSE malformed END",
            [
                (read.path, *read.known, lines, malformed, read.whole, read.whole)
                for read, lines, malformed in self._reads
            ],
        )
        if not is_first:
            connection.executemany("DELETE FROM sums WHERE entry = ?", [(entry,) for entry in changed])
        version = (
            "INSERT INTO meta VALUES (?, '1') ON CONFLICT (key) DO UPDATE SET value = CAST(value + 1 AS TEXT)"
        )
        connection.execute(version, (VERSION,))
        listed = [(_ALL,)] if is_first and changed else [(entry,) for entry in changed]
        for table in ("pending", "unreported"):
            connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?)", listed)  # noqa: S608 - one of two

    def _change_lines(
        self, connection: sqlite3.Connection, replaced: Sequence[str], *, is_first: bool
    ) -> list[str]:
        """Write the lines of each entry whose lines changed; return these entries."""
        old, kept = _lines_without(connection, replaced)
        if not is_first:
            others = list({text[_ENTRY] for part in self._parts.values() for text in part} - old.keys())
            for start in range(0, len(others), _BATCH_SIZE):
                batch = others[start : start + _BATCH_SIZE]
                query = f"SELECT entry, lines FROM said WHERE entry IN ({','.join('?' * len(batch))})"  # noqa: S608
                for entry, text in connection.execute(query, batch):
                    old[entry], kept[entry] = text, text.split("\n")
        rows = list[tuple[str, str, str]]()
        for part in self._parts.values():
            new = defaultdict[str, list[str]](list)
            for text in part:
                new[text[_ENTRY]].append(text[_LINE])
            for entry, more in new.items():
                rows.append(_row(entry, sorted([*kept.pop(entry, ()), *more])))
        rows += [_row(entry, lines) for entry, lines in kept.items() if lines]
        rows = sorted([row for row in rows if row[2] != old.get(row[0])])
        emptied = [entry for entry, lines in kept.items() if not lines]
        connection.executemany("INSERT OR REPLACE INTO said VALUES (?, ?, ?)", rows)
        connection.executemany("DELETE FROM said WHERE entry = ?", [(entry,) for entry in emptied])
        return [*[row[0] for row in rows], *emptied]

    def _change_accounts(self, connection: sqlite3.Connection, replaced: Sequence[str]) -> list[str]:
        """Write the accounts of format 1; return the entries whose accounts changed."""
        before = set[tuple[object, ...]]()
        for path in replaced:
            query = "DELETE FROM accounts WHERE ledger = ? RETURNING *"
            before |= set(connection.execute(query, (path,)).fetchall())
        connection.executemany(
            "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (entry, account, ledger) DO UPDATE SET"
            " up = max(up, excluded.up), down = max(down, excluded.down), n = max(n, excluded.n), at = max(at, excluded.at)",
            self._accounts,
        )
        return [str(row[0]) for row in before ^ set(self._accounts)]


def _lines_without(
    connection: sqlite3.Connection, ledgers: Sequence[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the rows with lines of these ledgers, by entry, and the lines that remain of each without them."""
    removed = {
        (source, _ledger_mark(path)) for path in ledgers if (source := ledger.source_of(path.split(":")[-1]))
    }
    old, kept = dict[str, str](), dict[str, list[str]]()
    query, values = "SELECT entry, lines FROM said", list[str]()
    if len(removed) == 1:
        query, values = f"{query} WHERE instr(lines, ?)", [f"\t{source}\t" for source, _ in removed]
    for entry, text in connection.execute(query, values) if removed else ():
        before = text.split("\n")
        after = [line for line in before if (line[_SOURCE], line.rpartition("\t")[2]) not in removed]
        if len(after) < len(before):
            old[entry], kept[entry] = text, after
    return old, kept


def _ledger_mark(path: str) -> str:
    """Return what identifies a ledger among those of its writer: its month and number, after the prefix of its path."""
    before, _, file = path.rpartition(":")
    return f"{before}{file.rpartition('/')[2][5:-6]}"


def _row(entry: str, lines: Sequence[str]) -> tuple[str, str, str]:
    """Return the row of an entry with these lines, which are sorted."""
    return entry, lines[-1][: ulid.LENGTH], "\n".join(lines)


def _distinct_lines(entry: str, text: str) -> list[Judgement]:
    """Return the lines of a row, each once, sorted by id."""
    found = _parse_lines(entry, text)
    if len({line.id for line in found}) == len(found):
        return found
    # A line may be in both the private folder and the branch.
    return list(dict.fromkeys(found))


def _parse_lines(entry: str, text: str) -> list[Judgement]:
    """Return the lines of a row, sorted by id; a line in two ledgers is there twice."""
    return [
        _new(Judgement, (line_id, entry, kind, of, words, agent, source, client))
        for line_id, source, kind, of, words, agent, client, _ in [
            line.split("\t") for line in text.split("\n")
        ]
    ]
