"""Restore the rows of a database that was renamed as damaged although it is intact.

Earlier versions, whose INSERTs named no columns, did that to a database to which a later version had added a column.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = "retrievals"  # its rows are ordered by number
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"


def restore_rows(
    connection: sqlite3.Connection, path: str, prepare: Callable[[sqlite3.Connection], object]
) -> bool:
    """Add the rows of the renamed database to the one at `path`, which is open in a transaction.

    Rows with an existing key are skipped: those here are newer. Return whether nothing of the renamed one is lost.
    """
    renamed = f"{path}.damaged"
    if not path or not os.path.isfile(renamed):  # "": in memory
        return False
    connection.execute("SAVEPOINT before")
    try:
        if os.path.exists(wal := f"{path}-wal.damaged"):
            os.replace(wal, f"{renamed}-wal")  # where SQLite expects it
        with closing(sqlite3.connect(renamed, isolation_level=None)) as old:
            if old.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return False
            prepare(old)
            is_complete = True
            for table, schema in old.execute(_TABLES).fetchall():
                is_complete &= _copy_table(connection, old, table, schema)
            return is_complete
    except (sqlite3.Error, OSError):
        connection.execute("ROLLBACK TO before")
        return False


def discard(path: str) -> None:
    """Delete the renamed database after all of it was restored. Raises OSError."""
    for name in (f"{path}.damaged", f"{path}.damaged-wal", f"{path}.damaged-shm", f"{path}-shm.damaged"):
        with suppress(FileNotFoundError):
            os.unlink(name)


def _copy_table(connection: sqlite3.Connection, old: sqlite3.Connection, table: str, schema: str) -> bool:
    """Copy the rows of a table; return whether the new table has every column of it."""
    if not (new_columns := _columns(connection, table)):
        connection.execute(schema)  # a table that is created on first use
        new_columns = _columns(connection, table)
    old_columns = _columns(old, table)
    shared = [name for name in old_columns if name in new_columns]
    names, marks = ", ".join(shared), ", ".join("?" * len(shared))
    rows = old.execute(f"SELECT {names} FROM {table}").fetchall()  # noqa: S608 - names of columns
    if table == _LOG:
        rows = _renumber(connection, rows, shared)
    connection.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608
    return len(shared) == len(old_columns)


def _renumber(
    connection: sqlite3.Connection, rows: list[tuple[object, ...]], columns: list[str]
) -> list[tuple[object, ...]]:
    """Renumber the rows of the log to come after these older ones; return the older ones that it lacks."""
    key = [columns.index(name) for name in ("at", "session", "action")]
    known = set(connection.execute(f"SELECT at, session, action FROM {_LOG}"))  # noqa: S608
    rows = [row for row in rows if tuple(row[place] for place in key) not in known]
    number = columns.index("number")
    last = max((int(str(row[number])) for row in rows), default=0)
    connection.execute(f"UPDATE {_LOG} SET number = -number")  # noqa: S608 - in two steps, since numbers are unique
    connection.execute(f"UPDATE {_LOG} SET number = ? - number", (last,))  # noqa: S608
    return rows


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
