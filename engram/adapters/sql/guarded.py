"""A SQLite connection for untrusted SQL: it can read the given views, and do nothing else.

Each view is two: the documented one, and behind it one with a secret name. Real tables may be read only within the
latter. (SQLite passes its authorizer just the name by which a table is mentioned, and untrusted SQL may give an
expression of its own the name of a view.)
"""

from __future__ import annotations

import math
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from engram.adapters.sql.bounded import Bounded, as_text
from engram.adapters.sql.functions import FUNCTIONS, TABLE_FUNCTIONS
from engram.domain.errors import StoreError, UsageError
from engram.domain.explore.tables import Table
from engram.domain.typed import TYPE_CHECKING

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from engram.domain.explore.tables import Cell, Limits, View

    Parameters = Mapping[str, object] | Sequence[object]

_CHECK_STEPS = 200  # of SQLite's virtual machine, between two checks of time and memory
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 50_000,  # bytes of a text or row
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    # Outside loops, only the calls that `Bounded` checks can stop SQLite. Others take 1 ms at most, and two steps or more.
    sqlite3.SQLITE_LIMIT_VDBE_OP: 2700,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_PER_MB = 1 << 20 if sys.platform == "darwin" else 1 << 10
_LESS = "Ask for less: filter, group, or leave out joins."
_CELL_OVERHEAD = 4  # characters around each cell


class Guarded:
    """An open connection. Use it in one thread, and close it."""

    def __init__(
        self, databases: Mapping[str, str], views: Sequence[View], waiting: Iterable[str] = ()
    ) -> None:
        """Open `databases`, files by the name that views use; a view of a database without a file ("") has no rows.

        `waiting` are the ids of entries in quarantine. Raises StoreError.
        """
        self._views = views
        self._token = os.urandom(8).hex()
        self._hidden = {f"{view.name} {self._token}" for view in views}
        self._named = {view.name for view in views}
        self._limits: Limits | None = None
        self._end = self._most = 0.0
        self._why = ""
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, uri=True
        )
        self._bounded = Bounded(_LIMITS, self._must_stop)
        try:
            self._prepare(databases, waiting)
        except sqlite3.Error as error:
            self.close()
            raise StoreError(f"The index cannot be queried: {error}.", "Run `engram doctor`.") from None

    def close(self) -> None:
        """Close every file."""
        self._connection.close()
        self._bounded.close()

    def ask(self, name: str, sql: str, parameters: Parameters, limits: Limits) -> Table:
        """Return the result of one statement, as a table of that name. Raises UsageError for an invalid statement."""
        self._limits, self._why, self._bounded.why = limits, "", ""
        self._end, self._most = time.monotonic() + limits.seconds, _memory() + limits.megabytes
        # The sqlite3 module accepts no mappings except dictionaries.
        values = dict(parameters) if isinstance(parameters, Mapping) else parameters
        try:
            cursor = self._connection.execute(sql, values)
            if cursor.description is None:
                raise UsageError("Only SELECT statements can be run.", self._hint)
            return self._table(name, cursor, limits)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise self._statement_error(error) from None
        except MemoryError:  # raised for a program with too many steps, too
            raise UsageError(self._why or "SQLite needs too many steps for that.", _LESS) from None
        finally:
            self._limits = None

    def _prepare(self, databases: Mapping[str, str], waiting: Iterable[str]) -> None:
        from urllib.parse import quote

        run = self._connection.execute
        for name, path in databases.items():
            if path:
                run(f"ATTACH ? AS {name}", (f"file:{quote(path)}?mode=ro",))
        run("PRAGMA temp_store=MEMORY")
        run(f'CREATE TEMP TABLE "waiting {self._token}" (id TEXT PRIMARY KEY) WITHOUT ROWID')
        ids = [(lore_id,) for lore_id in waiting]
        self._connection.executemany(f'INSERT OR IGNORE INTO "waiting {self._token}" VALUES (?)', ids)  # noqa: S608
        for view in self._views:
            self._create(view, has_file=bool(databases.get(view.database)))
        for function in TABLE_FUNCTIONS:
            run(f"SELECT 1 FROM {function}('[]')")  # noqa: S608 - creates it now; the authorizer would not allow it later
        self._bounded.add_to(self._connection)
        self._connection.text_factory = as_text
        for category, most in _LIMITS.items():
            self._connection.setlimit(category, most)
        run("PRAGMA trusted_schema=OFF")
        run("PRAGMA query_only=ON")
        self._connection.set_progress_handler(self._must_stop, _CHECK_STEPS)
        self._connection.set_authorizer(self._authorize)

    def _create(self, view: View, *, has_file: bool) -> None:
        names = ", ".join(column.name for column in view.columns)
        no_rows = "SELECT " + ", ".join(f"NULL AS {column.name}" for column in view.columns) + " WHERE 0"
        select = view.select.format(lore=f'"lore {self._token}"', waiting=f'"waiting {self._token}"')
        hidden = f'"{view.name} {self._token}"'
        self._connection.execute(f"CREATE TEMP VIEW {hidden} AS {select if has_file else no_rows}")
        self._connection.execute(f"CREATE TEMP VIEW {view.name} AS SELECT {names} FROM {hidden}")  # noqa: S608

    def _authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, within: str | None
    ) -> int:
        """Decide whether SQLite may perform an action; called while it prepares a statement."""
        if self._must_stop():
            return sqlite3.SQLITE_DENY
        allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        if action == sqlite3.SQLITE_FUNCTION:
            allowed = (second or "").lower() in FUNCTIONS
        elif action == sqlite3.SQLITE_READ:
            is_view = database == "temp" and first in self._named  # a real table may have the name of a view
            allowed = is_view or first in TABLE_FUNCTIONS or not self._hidden.isdisjoint((first, within))
            allowed |= second == ""  # rows are only counted
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    def _must_stop(self) -> bool:
        """Return whether the statement has used too much time or memory, and record which."""
        if self._limits is None or self._why:
            return bool(self._why)
        if time.monotonic() > self._end:
            self._why = f"The question took longer than {self._limits.seconds:g} seconds."
        elif _memory() > self._most:
            self._why = f"The question needed more than {self._limits.megabytes} MB of memory."
        return bool(self._why)

    def _table(self, name: str, cursor: sqlite3.Cursor, limits: Limits) -> Table:
        columns = tuple(column[0] for column in cursor.description)
        rows: list[tuple[Cell, ...]] = []
        left = limits.characters - sum(map(len, columns))
        for values in cursor:
            row = tuple(map(_cell, values))
            left -= sum(len(str(cell)) + _CELL_OVERHEAD for cell in row)
            if left < 0 and not rows:
                raise UsageError(
                    f"The first row alone exceeds the limit of {limits.characters:,} characters.",
                    "Select fewer columns, or a part: substr(title, 1, 100).",
                )
            if left < 0 or len(rows) == limits.rows:
                return Table(name, columns, tuple(rows), truncated=True)
            rows.append(row)
        return Table(name, columns, tuple(rows))

    def _statement_error(self, error: Exception) -> UsageError:
        if self._why:
            return UsageError(self._why, _LESS)
        message = (self._bounded.why or str(error)).replace(f" {self._token}", "").rstrip(".")
        if isinstance(error, sqlite3.Warning) or "one statement at a time" in message:
            return UsageError("Only one statement is allowed.", "Run the others separately.")
        if "authoriz" in message or "prohibited" in message:
            return UsageError(
                f"That is not allowed ({message}): only the tables of this memory can be read.", self._hint
            )
        return UsageError(f"SQLite cannot run that: {message}.", self._hint)

    @property
    def _hint(self) -> str:
        return f"Tables: {', '.join(view.name for view in self._views)}. `engram explore --depth 2` shows their columns."


def _cell(value: object) -> Cell:
    """Return a value as JSON can represent it."""
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value  # type: ignore[return-value]


def _memory() -> float:
    """Return the peak memory of this process in MB; 0 if unknown."""
    peak = 0
    if sys.platform != "win32":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / _PER_MB
