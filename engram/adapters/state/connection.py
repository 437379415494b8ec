"""A SQLite file that may be lost: opened on first use, replaced if damaged, kept in memory if it cannot be written."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager, suppress

from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")

_UNWRITABLE = ("unable to open", "readonly", "full", "disk I/O")
_PAUSE_SECONDS = 0.01  # between two attempts to switch to a write-ahead log
_ATTEMPTS = 500


class StateConnection:
    """The file at `path`, whose tables `prepare` creates.

    A damaged file is renamed and replaced by a new one. If no file can be written, the data stay in the memory of this
    process. In both cases `report` is called with a sentence for the user. Only a file that another process locks for
    seconds is an error: StoreError.
    """

    def __init__(
        self,
        path: str,
        prepare: Callable[[sqlite3.Connection], object],
        report: Callable[[str], object] = str,
    ) -> None:
        """Open nothing yet. `path` is absolute and its folder exists."""
        self.path = path
        self.is_on_disk = True  # False once it turns out that no file can be written
        self._prepare = prepare
        self._report = report
        self._connection: sqlite3.Connection | None = None

    @property
    def is_open(self) -> bool:
        """Whether this process has opened the file, which takes about a millisecond."""
        return self._connection is not None

    @property
    def exists(self) -> bool:
        """Whether there is a database to read."""
        return self.is_open or os.path.exists(self.path)

    def run(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute one statement and return its rows. Raises StoreError."""
        return self.work(lambda connection: connection.execute(query, values).fetchall())

    def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute one statement for each row, in one transaction. Raises StoreError."""

        def work(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.executemany(query, rows)

        if rows:
            self.work(work)

    def work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with the connection and return its result; may call it again on a new file. Raises StoreError."""
        for open_file in (self._open, self._replace):
            try:
                if self._connection is None:
                    self._connection = open_file()
                return work(self._connection)
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
                raise
            except sqlite3.Error as error:
                self.close()
                if is_busy(error):
                    raise busy_error(self.path, error) from None
                if any(word in str(error) for word in _UNWRITABLE):
                    break
        self.is_on_disk = False
        self._connection = connect(":memory:", self._prepare)
        self._report(
            f"{self.path} cannot be written: session refs and the activity log end with this process"
        )
        return work(self._connection)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        return connect(self.path, self._prepare)

    def _replace(self) -> sqlite3.Connection:
        """Rename the damaged file and open a new one. Raises sqlite3.Error."""
        try:
            rename_damaged(self.path)
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from None
        connection = self._open()
        if os.path.exists(f"{self.path}.damaged"):  # not all of its rows could be salvaged
            self._report(
                "session refs, the activity log and the quarantine were damaged and start empty"
                f" ({self.path}.damaged)"
            )
        return connection


class StateTable:
    """A table of the state database that few stores need, created on first use."""

    SCHEMA: str

    def __init__(self, state: StateConnection) -> None:
        """Open nothing yet."""
        self._state = state

    def _run(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement. Raises StoreError."""

        def work(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            connection.execute(self.SCHEMA)
            return connection.execute(query, values).fetchall()

        return self._state.work(work)


def connect(path: str, prepare: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    """Connect to a file that only its owner may read, and let `prepare` create its tables. Raises sqlite3.Error."""
    _keep_private(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
    try:
        prepare(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the changes made within the context, or roll them back if it fails. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def rename_damaged(path: str) -> None:
    """Rename a damaged database and its companions to `….damaged`. Raises OSError."""
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.replace(path + suffix, f"{path}{suffix}.damaged")


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether the error means that another process holds the file."""
    return any(word in str(error) for word in ("locked", "busy"))


def busy_error(path: str, error: sqlite3.Error) -> StoreError:
    """Return the error that another process uses the file."""
    return StoreError(f"{path} cannot be used now: {error}.", "Another process is using it; try again.")


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, so that others can read during a write; wait up to five seconds. Raises sqlite3.Error.

    SQLite's own timeout does not apply to this switch: of two processes that open a new file at once, one would fail.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or attempt == _ATTEMPTS:
                raise
            time.sleep(_PAUSE_SECONDS)  # SQLite does not wait for this switch


def _keep_private(path: str) -> None:
    """Create the file if it is missing, else remove the permissions of others; ignore errors.

    An existing file is not opened for that, since closing a second handle would release the locks of the first.
    """
    with suppress(OSError):
        if path == ":memory:":
            return
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if os.stat(path).st_mode & 0o077:
                os.chmod(path, 0o600)
