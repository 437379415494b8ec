"""A cache of all ledgers, by entry: which lines judge it, and what files of format 1 held of it.

An entry has one row with all lines about it, each as tab-separated text, in the order of their ids: a question about an
entry reads one row, and a million lines are written as a hundred thousand. It is made anew from the ledgers when it is lost.
"""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import repeat

from engram.adapters.state.connection import StateConnection, transaction, use_write_ahead_log
from engram.domain.entry import ulid
from engram.domain.entry.confidence import Vote
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement, LegacyAccount, Said
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
# Made anew with each format.
_TABLES = ("meta", "ledgers", "lines", "said", "sums", "times", "accounts", "signers", "people")
VERSION = "version"  # the note that counts how often lines were written
_EVERY = "*"  # in place of an entry in `pending` or `unreported`: all of which anything was said
_AT_ONCE = 400
_OF_ENTRIES = (
    "SELECT entry, lines, NULL, NULL, NULL, NULL FROM said WHERE entry IN ({marks})"
    " UNION ALL SELECT entry, account, up, down, n, at FROM accounts WHERE entry IN ({marks})"
)
# A hundred thousand entries are asked for at once, and this takes half as long as calling the class.
_new = tuple.__new__


_ENTRY, _LINE = slice(ulid.LENGTH), slice(ulid.LENGTH + 1, None)  # of a line that is filed
_END = slice(ulid.LENGTH - 1, ulid.LENGTH)  # of the id of its entry
_SOURCE = slice(ulid.LENGTH + 1, 2 * ulid.LENGTH + 1)  # where a line has its source


class Known(NamedTuple):
    """How much of a ledger was read: its size (bytes), and its blob id or inode, which tells whether that part is the same."""

    size: int
    mark: str


class Read(NamedTuple):
    """What was read of a ledger: all of it (`whole`), or what it grew by. `known` is what holds afterwards."""

    path: str
    source: str
    raw: bytes
    known: Known
    before: Known | None
    whole: bool


class Packed(NamedTuple):
    """What was said of an entry, as text: unpacked, the lines of some hundred entries crowd a processor's cache."""

    entry: str
    lines: str
    accounts: list[LegacyAccount]

    def __bool__(self) -> bool:
        """Return whether it is anything."""
        return bool(self.lines or self.accounts)

    def unpack(self) -> Said:
        """Return the lines and accounts."""
        return Said(_every_line(self.entry, self.lines) if self.lines else [], self.accounts)


class OvertakenError(Exception):
    """Another process has read more of a ledger meanwhile."""


class JudgementCache:
    """The cache in a store's state folder. Entries whose judgements changed are `pending` until the index has them."""

    def __init__(self, folder: str) -> None:
        """Open nothing yet. `folder` is absolute and exists."""
        self._state = StateConnection(os.path.join(folder, FILE), _prepare)

    @property
    def file(self) -> str:
        """The path of the database; "" where it is in memory."""
        return self._state.path if self._state.is_on_disk else ""

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
        query = "SELECT coalesce(sum(lines), 0), coalesce(sum(malformed), 0) FROM ledgers"
        lines, malformed = self._state.run(query)[0]
        return lines, malformed

    def add(self, reads: Iterable[Read], erased: Collection[str] = ()) -> None:
        """Add the lines of ledgers, without what is `erased`.

        Raises OvertakenError, and changes nothing, where what holds now of one of them is not what held `before`.
        """
        batch = _Batch()
        for one in reads:
            batch.take(one, erased)
        self._state.work(batch.write)

    def forget(self, paths: Iterable[str]) -> None:
        """Forget ledgers that are gone."""
        batch = _Batch()
        batch.gone += paths
        if batch.gone:
            self._state.work(batch.write)

    def of(self, entries: Sequence[str]) -> Said:
        """Return everything that was said of these entries; of one entry by id, each line once."""
        lines, accounts = list[Judgement](), list[LegacyAccount]()
        for start in range(0, len(entries), _AT_ONCE):
            some = entries[start : start + _AT_ONCE]
            query = _OF_ENTRIES.format(marks=",".join("?" * len(some)))
            for entry, text, up, down, n, at in self._state.run(query, [*some, *some]):
                if up is None:
                    lines += _lines(entry, text)
                else:
                    accounts.append(LegacyAccount(entry, text, Vote(up, down, n), at))
        return Said(lines, accounts)

    def by_entry(self, entries: Sequence[str]) -> dict[str, Packed]:
        """Return everything that was said of each of these entries; a line that stands in two ledgers twice."""
        found = {entry: Packed(entry, "", []) for entry in entries}
        query = _OF_ENTRIES.format(marks=",".join("?" * len(entries)))
        for entry, text, up, down, n, at in self._state.run(query, [*entries, *entries]):
            if up is None:
                found[entry] = Packed(entry, text, [])
            else:
                found[entry].accounts.append(LegacyAccount(entry, text, Vote(up, down, n), at))
        return found

    def sums(self, entries: Sequence[str]) -> dict[str, tuple[str, Sums]]:
        """Return what was kept of these entries, as far as nothing was said of them since, and the keys it was kept under."""
        query = f"SELECT * FROM sums WHERE entry IN ({','.join('?' * len(entries))})"  # noqa: S608 - marks alone
        return {row[0]: (row[1], Sums._make(row[2:])) for row in self._state.run(query, entries)}

    def keep_times(self, lines: Iterable[tuple[str, str, int]]) -> None:
        """Keep when lines came whose own time cannot be right (id, entry, Unix ms); entries with new ones are `pending`."""
        known = dict(self._state.run("SELECT id, at FROM times"))
        new = [one for one in lines if known.get(one[0]) != one[2]]
        self._state.run_many("INSERT OR REPLACE INTO times VALUES (?, ?, ?)", new)
        for table in ("pending", "unreported"):
            query = f"INSERT OR IGNORE INTO {table} VALUES (?)"  # noqa: S608 - one of two
            self._state.run_many(query, [(entry,) for _, entry, _ in new])

    def times_of(self, entries: Sequence[str]) -> list[tuple[str, str, int]]:
        """Return when lines of these entries came whose own time cannot be right: id, entry, Unix ms."""
        query = f"SELECT id, entry, at FROM times WHERE entry IN ({','.join('?' * len(entries))})"  # noqa: S608 - marks alone
        return self._state.run(query, entries)

    def drop_times(self, until: str) -> None:
        """Forget those of lines from the future with ids up to this one, whose time has come; their entries are `pending`."""
        found = self._state.run("SELECT id, entry, at FROM times WHERE id <= ?", (until,))
        gone = [(line_id, entry) for line_id, entry, at in found if at <= ulid.milliseconds(line_id)]
        self._state.run_many("INSERT OR IGNORE INTO pending VALUES (?)", [(entry,) for _, entry in gone])
        self._state.run_many("DELETE FROM times WHERE id = ? AND entry = ?", gone)

    def sign(self, lines: Iterable[tuple[str, str, str]]) -> None:
        """Keep who signed lines (id, entry, signer), unless that is known already; their entries are `pending`."""
        rows = list(lines)
        self._state.run_many("INSERT OR IGNORE INTO signers VALUES (?, ?, ?)", rows)
        self._state.run_many("INSERT OR IGNORE INTO pending VALUES (?)", [(entry,) for _, entry, _ in rows])

    def forget_signers(self) -> None:
        """Forget who signed what: others count now; all entries are `pending`."""
        self._state.run("DELETE FROM signers")
        self._state.run("INSERT OR IGNORE INTO pending VALUES (?)", (_EVERY,))

    def signers(self, entries: Sequence[str]) -> dict[str, str]:
        """Return who signed the lines of these entries, by their ids."""
        query = f"SELECT id, signer FROM signers WHERE entry IN ({','.join('?' * len(entries))})"  # noqa: S608 - marks alone
        return dict(self._state.run(query, entries))

    def version(self) -> str:
        """Return what differs whenever more was written to the cache."""
        return self.meta(VERSION)

    def keep_sums(self, found: Sequence[tuple[str, str, Sums]], version: str) -> None:
        """Keep the sums of entries (id, key, sums), unless anything was said since `version` of the cache."""

        def keep(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                row = connection.execute("SELECT value FROM meta WHERE key = ?", (VERSION,)).fetchone()
                if (row[0] if row else "") == version:
                    rows = sorted([(entry, key, *sums) for entry, key, sums in found])
                    connection.executemany("INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

        self._state.work(keep)

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
        query = "INSERT OR IGNORE INTO pending SELECT entry FROM said WHERE instr(lines, ?)"
        self._state.run_many(query, [(f"\t{source}\t",) for source in sources])

    def entries(self) -> set[str]:
        """Return the entries of which anything was said."""
        query = "SELECT entry FROM said UNION SELECT entry FROM accounts"
        return {entry for (entry,) in self._state.run(query)}

    def of_source(self, source: str) -> list[Judgement]:
        """Return all lines of a source, by id."""
        rows = self._state.run("SELECT entry, lines FROM said WHERE instr(lines, ?)", (f"\t{source}\t",))
        return sorted([line for row in rows for line in _lines(*row) if line.source == source])

    def of_account(self, name: str) -> list[LegacyAccount]:
        """Return the accounts of format 1 with a name, of all entries."""
        query = "SELECT entry, account, max(up), max(down), max(n), max(at) FROM accounts WHERE account = ? GROUP BY 1, 2"
        return [
            LegacyAccount(row[0], row[1], Vote(*row[2:5]), row[5]) for row in self._state.run(query, (name,))
        ]

    def latest(self, limit: int, agent: str, since: str) -> list[Judgement]:
        """Return the last lines of all sources, newest first: of an agent ("": any), with ids from `since` on."""
        found = list[Judgement]()

        def read(connection: sqlite3.Connection) -> None:
            found.clear()
            query = "SELECT last, entry, lines FROM said WHERE last >= ? ORDER BY last DESC"
            for last, entry, text in connection.execute(query, (since,)):
                found.sort(reverse=True)
                if len(found) >= limit and found[limit - 1].id > last:
                    return
                found.extend(
                    [line for line in _lines(entry, text) if line.id >= since and agent in ("", line.agent)]
                )

        self._state.work(read)
        return sorted(found, reverse=True)[:limit]

    def pending(self) -> list[str]:
        """Return the entries whose judgements changed since the index was told."""
        return self._entries_of("SELECT entry FROM pending")

    def settle(self, entries: Collection[str]) -> None:
        """Note that the index has what was said of these entries, which `pending` returned."""
        self._state.run_many("DELETE FROM pending WHERE entry = ?", [(entry,) for entry in entries])

    def take_unreported(self) -> list[str]:
        """Return, once, the entries whose judgements changed, for programs that keep a copy."""
        return [one for one in self._entries_of("DELETE FROM unreported RETURNING entry") if one != _EVERY]

    def _entries_of(self, query: str) -> list[str]:
        found = [entry for (entry,) in self._state.run(query)]
        return sorted({*found, *self.entries()}) if _EVERY in found else found


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous=OFF")  # it is made anew when it is lost
    if connection.execute("PRAGMA user_version").fetchone()[0] == _FORMAT:
        return
    use_write_ahead_log(connection)
    with transaction(connection):
        if connection.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:  # no other process was faster
            for statement in (*(f"DROP TABLE IF EXISTS {table}" for table in _TABLES), *_SCHEMA.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_FORMAT}")


class _Batch:
    """Lines that are written in one transaction, and by entry, however many ledgers they come from."""

    def __init__(self) -> None:
        self.gone: list[str] = []
        # With the numbers of lines and of those that cannot be read.
        self._reads: list[tuple[Read, int, int]] = []
        # The lines after the ids of their entries, by the end of these: a million lines are filed under a hundred thousand
        # entries in a third less time if it is a few thousand at once, which a processor's cache holds.
        self._parts = defaultdict[str, list[str]](list)
        self._accounts: list[tuple[object, ...]] = []

    def take(self, read: Read, erased: Collection[str]) -> None:
        """Add what was read of a ledger."""
        usual, others = ledger.split(read.raw) if read.source else ([], read.raw.split(b"\n"))
        found = ledger.parse(b"\n".join(others), read.source)
        lines = [row for row in usual if row[0]] if others else usual
        lines += [(*one[:6], one.client, "") for one in found.judgements]
        accounts = found.accounts
        if erased:
            lines = [] if read.source in erased else [one for one in lines if one[0] not in erased]
            accounts = [one for one in accounts if one.id not in erased]
        if lines:
            # A million lines come by here: column by column they take half the time.
            ids, entries, *said, _ = zip(*lines, strict=True)
            columns = entries, ids, repeat(read.source), *said, repeat(_ledger_mark(read.path))
            parts = self._parts
            for text in map("\t".join, zip(*columns)):  # noqa: B905
                parts[text[_END]].append(text)
        self._accounts += [
            (one.entry, one.account, *one.vote, one.at, read.path)
            for one in ledger.larger_accounts(accounts).values()
        ]
        self._reads.append((read._replace(raw=b""), len(lines), found.malformed))

    def write(self, connection: sqlite3.Connection) -> None:
        """Write all of it, and note which entries changed. Raises OvertakenError."""
        with transaction(connection):
            self._write(connection)

    def _write(self, connection: sqlite3.Connection) -> None:
        query = "SELECT size, mark FROM ledgers WHERE path = ?"
        for read, _, _ in self._reads:
            row = connection.execute(query, (read.path,)).fetchone()
            if (Known(*row) if row else None) != read.before:
                raise OvertakenError(read.path)
        is_first = connection.execute("SELECT NOT EXISTS (SELECT 1 FROM ledgers)").fetchone()[0]
        replaced = [*self.gone, *[read.path for read, _, _ in self._reads if read.before and read.whole]]
        changed = self._change_accounts(connection, replaced)
        changed += self._change_lines(connection, replaced, is_first=is_first)
        connection.executemany("DELETE FROM ledgers WHERE path = ?", [(path,) for path in self.gone])
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
        listed = [(_EVERY,)] if is_first and changed else [(entry,) for entry in changed]
        for table in ("pending", "unreported"):
            connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?)", listed)  # noqa: S608 - one of two

    def _change_lines(
        self, connection: sqlite3.Connection, replaced: Sequence[str], *, is_first: bool
    ) -> list[str]:
        """Write the lines of each entry that has others than before; return these entries."""
        old, kept = _without(connection, replaced)
        if not is_first:
            lacking = list({text[_ENTRY] for part in self._parts.values() for text in part} - old.keys())
            for start in range(0, len(lacking), _AT_ONCE):
                some = lacking[start : start + _AT_ONCE]
                query = f"SELECT entry, lines FROM said WHERE entry IN ({','.join('?' * len(some))})"  # noqa: S608
                for entry, text in connection.execute(query, some):
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
        gone = [entry for entry, lines in kept.items() if not lines]
        connection.executemany("INSERT OR REPLACE INTO said VALUES (?, ?, ?)", rows)
        connection.executemany("DELETE FROM said WHERE entry = ?", [(entry,) for entry in gone])
        return [*[row[0] for row in rows], *gone]

    def _change_accounts(self, connection: sqlite3.Connection, replaced: Sequence[str]) -> list[str]:
        """Write the accounts that files of format 1 held; return the entries that have others than before."""
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


def _without(
    connection: sqlite3.Connection, ledgers: Sequence[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the rows that have lines of these ledgers, by entry, and what is left of each without them."""
    gone = {
        (source, _ledger_mark(path)) for path in ledgers if (source := ledger.source_of(path.split(":")[-1]))
    }
    old, kept = dict[str, str](), dict[str, list[str]]()
    query, values = "SELECT entry, lines FROM said", list[str]()
    if len(gone) == 1:
        query, values = f"{query} WHERE instr(lines, ?)", [f"\t{source}\t" for source, _ in gone]
    for entry, text in connection.execute(query, values) if gone else ():
        before = text.split("\n")
        after = [one for one in before if (one[_SOURCE], one.rpartition("\t")[2]) not in gone]
        if len(after) < len(before):
            old[entry], kept[entry] = text, after
    return old, kept


def _ledger_mark(path: str) -> str:
    """Return what tells this ledger from others of its writer: its month and number, with what stands before its path."""
    before, _, file = path.rpartition(":")
    return f"{before}{file.rpartition('/')[2][5:-6]}"


def _row(entry: str, lines: Sequence[str]) -> tuple[str, str, str]:
    """Return the row of an entry with these lines, which are in order."""
    return entry, lines[-1][: ulid.LENGTH], "\n".join(lines)


def _lines(entry: str, text: str) -> list[Judgement]:
    """Return the lines of a row, each once, by id."""
    found = _every_line(entry, text)
    if len({line.id for line in found}) == len(found):
        return found
    # One may stand in the private folder, and on the branch.
    return list(dict.fromkeys(found))


def _every_line(entry: str, text: str) -> list[Judgement]:
    """Return the lines of a row by id, also those that stand in two ledgers."""
    return [
        _new(Judgement, (line_id, entry, kind, of, words, agent, source, client))
        for line_id, source, kind, of, words, agent, client, _ in [
            one.split("\t") for one in text.split("\n")
        ]
    ]
