"""Counts of the events that fitted the moments of entries, in the store's state database; events are not stored."""

from __future__ import annotations

from engram.adapters.state.connection import StateTable
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

FEWEST = 500  # events before a moment can be too common
TOO_COMMON = 20  # a moment that more than one in 20 events fit
_ALL = ""  # the line that counts all events
_COUNT = (
    "INSERT INTO moment_counts (line, before, fitted) VALUES (?, ?, 1)"
    " ON CONFLICT DO UPDATE SET fitted = fitted + 1"
)
_COMMON = f"""
SELECT one.line, one.fitted, every.fitted - one.before FROM moment_counts AS one, moment_counts AS every
WHERE every.line = '' AND one.line != '' AND every.fitted - one.before >= {FEWEST}
    AND one.fitted * {TOO_COMMON} > every.fitted - one.before
"""  # noqa: S608 - numbers of this module


class Common(NamedTuple):
    """A moment that too many events fit: its line, how many fitted, and the number of events since the first that did."""

    line: str
    fitted: int
    events: int


class MomentCounts(StateTable):
    """The counts, by the line of a moment."""

    SCHEMA = """
    CREATE TABLE IF NOT EXISTS moment_counts (
        line TEXT PRIMARY KEY, before INTEGER NOT NULL, fitted INTEGER NOT NULL) WITHOUT ROWID
    """

    def count(self, lines: Sequence[str], *, is_new: bool) -> None:
        """Count an event that fits these moments; `is_new` unless it was counted for another kind of moment already."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self.SCHEMA)
            if is_new:
                connection.execute(_COUNT, (_ALL, 0))
            if lines:
                [(total,)] = connection.execute(
                    "SELECT coalesce(max(fitted), 1) FROM moment_counts WHERE line = ?", (_ALL,)
                ).fetchall()
                connection.executemany(_COUNT, [(line, total - 1) for line in lines])

        self._state.work(work)

    def common(self) -> list[Common]:
        """Return the moments that more than one in twenty events fit."""
        return [Common(*row) for row in self._run(_COMMON)]
