"""A small SQLite file in the state folder that programs rely on: its transactions survive a power cut."""

from __future__ import annotations

import os
import sqlite3

from engram.adapters.state import judgement_cache
from engram.adapters.state.connection import connect, rename_damaged, transaction, use_write_ahead_log
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

KEYS, FEED = "keys.db", "feed.db"


def carry(state: str, to: str) -> None:
    """Copy these files, if they exist, from one state folder to another, replacing those there. Raises StoreError.

    The cache of judgements is copied too, so that judgements are not reported to programs again.
    """
    from contextlib import closing

    for name in (KEYS, FEED, judgement_cache.FILE):
        path = os.path.join(state, name)
        if not os.path.exists(path):
            continue
        try:
            with (
                closing(sqlite3.connect(path)) as ours,
                closing(sqlite3.connect(os.path.join(to, name))) as theirs,
            ):
                ours.backup(theirs)
        except sqlite3.Error as error:
            if name != judgement_cache.FILE:  # it can be rebuilt from the ledgers
                raise _unusable_error(path, error) from None


class DurableDatabase:
    """The file at `path`, opened on first use and created by `schema` if it is missing.

    A damaged file is renamed and replaced by a new one, and `report` is called with a sentence for the user. Unlike other
    state it is required: if it cannot be used, StoreError is raised.
    """

    def __init__(self, path: str, schema: str, report: Callable[[str], object] = str) -> None:
        """Open nothing yet. `schema` is idempotent SQL."""
        self.path = path
        self._schema = schema
        self._report = report
        self._connection: sqlite3.Connection | None = None

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction and return its result once the transaction is on disk. Raises StoreError."""
        try:
            return self._transact(work)
        except sqlite3.Error as error:
            self.close()
            if type(error) is not sqlite3.DatabaseError:  # subclasses are errors other than damage
                raise _unusable_error(self.path, error) from None
        self._rename_damaged()
        try:
            return self._transact(work)
        except sqlite3.Error as error:
            self.close()
            raise _unusable_error(self.path, error) from None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None:
            self._connection = connect(self.path, self._prepare)
        with transaction(self._connection):
            return work(self._connection)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(self._schema)

    def _rename_damaged(self) -> None:
        try:
            rename_damaged(self.path)
        except OSError as error:
            raise _unusable_error(self.path, error) from None
        self._report(f"{os.path.basename(self.path)} was damaged and begins anew ({self.path}.damaged)")


def _unusable_error(path: str, error: Exception) -> StoreError:
    return StoreError(
        f"{path} cannot be used now: {error}.",
        "Check for a full disk, missing permissions or another process using it, then try again.",
    )
