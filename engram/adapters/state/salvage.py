"""The rows of a database that was renamed as damaged and is whole.

Versions that named no columns in what they wrote did that to a database to which a later version had added one.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = "retrievals"  # whose rows have numbers, by which they are in order
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"


def take_back(
    connection: sqlite3.Connection, path: str, prepare: Callable[[sqlite3.Connection], object]
) -> bool:
    """Add the rows of the renamed database to the one at `path`, which is open in a transaction.

    What has the same key there stays as it is: it is newer. Returns whether nothing but that is in the renamed one.
    """
    renamed = f"{path}.damaged"
    if not path or not os.path.isfile(renamed):  # "": it is in memory
        return False
    connection.execute("SAVEPOINT before")
    try:
        if os.path.exists(wal := f"{path}-wal.damaged"):
            os.replace(wal, f"{renamed}-wal")  # where SQLite looks for it
        with closing(sqlite3.connect(renamed, isolation_level=None)) as old:
            if old.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return False
            prepare(old)
            is_all = True
            for table, schema in old.execute(_TABLES).fetchall():
                is_all &= _take_table(connection, old, table, schema)
            return is_all
    except (sqlite3.Error, OSError):
        connection.execute("ROLLBACK TO before")
        return False


def discard(path: str) -> None:
    """Delete the renamed database, of which everything has been taken back. Raises OSError."""
    for name in (f"{path}.damaged", f"{path}.damaged-wal", f"{path}.damaged-shm", f"{path}-shm.damaged"):
        with suppress(FileNotFoundError):
            os.unlink(name)


def _take_table(connection: sqlite3.Connection, old: sqlite3.Connection, table: str, schema: str) -> bool:
    """Take the rows of a table; returns whether every column of it is known here."""
    if not (here := _columns(connection, table)):
        connection.execute(schema)  # made when it is first needed
        here = _columns(connection, table)
    there = _columns(old, table)
    shared = [name for name in there if name in here]
    names, marks = ", ".join(shared), ", ".join("?" * len(shared))
    rows = old.execute(f"SELECT {names} FROM {table}").fetchall()  # noqa: S608 - names of columns
    if table == _LOG:
        rows = _make_room(connection, rows, shared)
    connection.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608
    return len(shared) == len(there)


def _make_room(
    connection: sqlite3.Connection, rows: list[tuple[object, ...]], columns: list[str]
) -> list[tuple[object, ...]]:
    """Number the lines of the log that are here after these, which are older; returns those that are not here."""
    key = [columns.index(name) for name in ("at", "session", "action")]
    known = set(connection.execute(f"SELECT at, session, action FROM {_LOG}"))  # noqa: S608
    rows = [row for row in rows if tuple(row[place] for place in key) not in known]
    number = columns.index("number")
    last = max((int(str(row[number])) for row in rows), default=0)
    connection.execute(f"UPDATE {_LOG} SET number = -number")  # noqa: S608 - two steps, since a number is there once
    connection.execute(f"UPDATE {_LOG} SET number = ? - number", (last,))  # noqa: S608
    return rows


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
