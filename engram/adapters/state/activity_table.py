"""The activity log: what queries, tools and hooks did on this machine, in the table `retrievals`.

The table's name is from when it had retrievals only; ranking and review still use only those. A process that has not
opened the database appends a line to a file next to it, at a twentieth of the cost; the next user of the table moves
the lines into it.
"""

from __future__ import annotations

import json
import os
from types import MappingProxyType

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence
    from typing import Any

    from engram.adapters.state.connection import StateConnection

QUERY = "query"
SHOWING = (QUERY, "get", "brief")  # actions that show entries to somebody
NO_COUNTS: Mapping[str, int] = MappingProxyType({})
MOST_KEPT = 100_000  # lines; about 40 MB
_LONGEST_QUERY = 2000
# The first version of the table; `add_columns` adds the columns of `_ADDED`.
SCHEMA = """
CREATE TABLE IF NOT EXISTS retrievals (
    number INTEGER PRIMARY KEY, at REAL NOT NULL, session TEXT NOT NULL, query TEXT NOT NULL, strategy TEXT NOT NULL,
    strength TEXT NOT NULL, ids TEXT NOT NULL, scores TEXT NOT NULL, took_ms REAL NOT NULL);
"""
_ADDED = {
    "action": "TEXT NOT NULL DEFAULT 'query'",
    "via": "TEXT NOT NULL DEFAULT ''",
    "agent": "TEXT NOT NULL DEFAULT ''",
    "tokens": "INTEGER NOT NULL DEFAULT 0",
    "withheld": "TEXT NOT NULL DEFAULT '[]'",
    "details": "TEXT NOT NULL DEFAULT '{}'",
}
_COLUMNS = "at, session, query, strategy, strength, ids, scores, took_ms, action, via, agent, tokens, withheld, details"
_INSERT = f"INSERT INTO retrievals ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - names only
_SELECT = f"SELECT {_COLUMNS}, number FROM retrievals"  # noqa: S608 - names only


class Withheld(NamedTuple):
    """Entries that came near but were not shown: the reason in a few words, and their ids."""

    why: str
    ids: tuple[str, ...] = ()


class ActivityLine(NamedTuple):
    """A line of the log. `at` is in Unix seconds, `took_ms` in milliseconds, `tokens` the approximate cost of what was shown.

    `action` is `query` for recall, or `record`, `feedback`, `get`, `forget`, `brief`, `ask`, `capture`, `import`, `skill`,
    `sync`. `via` is the front end: `cli`, `python`, `mcp`, `http`, `hook prompt` and so on. `number` increases; 0 is not
    written yet. `details` has the counts of an action.
    """

    at: float
    session: str
    query: str
    strategy: str
    strength: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    took_ms: float
    action: str = QUERY
    via: str = ""
    agent: str = ""
    tokens: int = 0
    withheld: tuple[Withheld, ...] = ()
    details: Mapping[str, int] = NO_COUNTS
    number: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return the entry as JSON."""
        withheld = [{"why": one.why, "ids": list(one.ids)} for one in self.withheld]
        return {**self._asdict(), "withheld": withheld, "details": dict(self.details)}


class ActivityTable:
    """The activity log of one state database."""

    def __init__(self, state: StateConnection) -> None:
        """Open nothing yet."""
        self._state = state

    def add(self, entry: ActivityLine) -> None:
        """Append a line. Raises StoreError, OSError."""
        values = (
            entry.at, entry.session, entry.query[:_LONGEST_QUERY], entry.strategy, entry.strength,
            json.dumps(entry.ids), json.dumps([round(score, 4) for score in entry.scores]), entry.took_ms,
            entry.action, entry.via, entry.agent, entry.tokens, json.dumps(entry.withheld), json.dumps(dict(entry.details)),
        )  # fmt: skip
        if self._state.is_open:
            self._flush().run(_INSERT, values)
            return
        line = f"{json.dumps(values)}\n".encode()
        handle = os.open(self._pending, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def _claim(self) -> str:
        """Claim the file of pending lines by renaming it; "" if there is none, or another process has it."""
        pending = self._pending
        if not self._state.is_on_disk or not os.path.exists(pending):  # the usual case: cheaper than an error
            return ""
        claimed = f"{pending}.{os.getpid()}"
        try:
            os.rename(pending, claimed)
        except OSError:
            return ""
        return claimed

    def prune(self, most: int = MOST_KEPT) -> None:
        """Delete all but the latest `most` lines."""
        self._flush().run(
            "DELETE FROM retrievals WHERE number <= (SELECT max(number) FROM retrievals) - ?", (most,)
        )

    def flush(self) -> None:
        """Move the pending lines into the database."""
        if os.path.exists(self._pending):
            self._flush()

    @property
    def _pending(self) -> str:
        return os.path.join(os.path.dirname(self._state.path), "live.jsonl")

    def _flush(self) -> StateConnection:
        """Move pending lines into the database and return it. A line written at the same moment may be lost."""
        claimed = self._claim()
        if not claimed:
            return self._state
        try:
            with open(claimed, "rb") as file:
                lines = file.read().splitlines()
            self._state.run_many(_INSERT, [row for line in lines if (row := _row(line)) is not None])
        finally:
            if self._state.is_on_disk:
                os.unlink(claimed)
            else:  # the lines cannot be written now
                os.rename(claimed, self._pending)
        return self._state

    def since(self, number: int, limit: int) -> list[ActivityLine]:
        """Return at most `limit` lines after that number, oldest first."""
        return _read(
            self._flush().run(f"{_SELECT} WHERE number > ? ORDER BY number LIMIT ?", (number, limit))
        )

    def latest(self, limit: int, action: str = "") -> list[ActivityLine]:
        """Return the latest lines (of one action), newest first."""
        where, values = ("WHERE action = ? ", [action]) if action else ("", [])
        return _read(self._flush().run(f"{_SELECT} {where}ORDER BY number DESC LIMIT ?", (*values, limit)))

    def shown_since(self, moment: float) -> set[str]:
        """Return the ids of the entries shown since `moment` (Unix seconds)."""
        query = (
            "SELECT DISTINCT value FROM retrievals, json_each(ids) WHERE at >= ?"
            " AND action IN (SELECT value FROM json_each(?))"
        )
        return {row[0] for row in self._flush().run(query, (moment, json.dumps(SHOWING)))}

    def answers(self, most: int) -> list[tuple[float, str, str]]:
        """Return the latest `most` answers, newest first: time, question ("" for none), ids as JSON."""
        query = (
            "SELECT at, iif(action = ?, query, ''), ids FROM retrievals"
            " WHERE action IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT ?"
        )
        return [
            (row[0], row[1], row[2]) for row in self._flush().run(query, (QUERY, json.dumps(SHOWING), most))
        ]

    def answered(self, lore_id: str, limit: int) -> list[ActivityLine]:
        """Return the latest queries that showed one entry, newest first."""
        where = "WHERE action = ? AND instr(ids, ?) ORDER BY number DESC LIMIT ?"
        return _read(self._flush().run(f"{_SELECT} {where}", (QUERY, f'"{lore_id}"', limit)))

    def times_shown(self, lore_id: str) -> int:
        """Count the answers that had one entry, without reading the others."""
        query = "SELECT count(*) FROM retrievals WHERE action IN (SELECT value FROM json_each(?)) AND instr(ids, ?)"
        return int(self._flush().run(query, (json.dumps(SHOWING), f'"{lore_id}"'))[0][0])

    def shown_each(self, ids: Sequence[str]) -> dict[str, int]:
        """Count the answers that had each of these entries; entries without any are left out."""
        query = (
            "SELECT one.value, count(*) FROM retrievals, json_each(retrievals.ids) AS one"
            " WHERE action IN (SELECT value FROM json_each(?))"
            " AND one.value IN (SELECT value FROM json_each(?)) GROUP BY one.value"
        )
        rows = self._flush().run(query, (json.dumps(SHOWING), json.dumps([*ids])))
        return {str(lore_id): int(count) for lore_id, count in rows}

    def totals(self) -> list[tuple[str, str, int, int, int]]:
        """Return for each action and via: the number of lines, of entries in them, and of tokens."""
        query = (
            "SELECT action, via, count(*), sum(json_array_length(ids)), sum(tokens) FROM retrievals"
            " GROUP BY action, via ORDER BY action, via"
        )
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self._flush().run(query)]

    def last_by_agent(self) -> dict[str, float]:
        """Return the time of each named agent's last line (Unix seconds)."""
        query = "SELECT agent, max(at) FROM retrievals WHERE agent != '' GROUP BY agent"
        return {str(agent): float(at) for agent, at in self._flush().run(query)}

    def moments_of(self, session: str, since: float) -> list[float]:
        """Return the times of a session's lines after `since`, the latest first (Unix seconds)."""
        query = "SELECT at FROM retrievals WHERE at > ? AND session = ? ORDER BY number DESC LIMIT 10000"
        return [float(at) for (at,) in self._flush().run(query, (since, session))]

    def latencies(self, bounds: Sequence[float]) -> tuple[list[int], float, int]:
        """Return for all queries: how many took at most each bound (ms), the sum of their durations, their number."""
        counts = ", ".join(["coalesce(sum(took_ms <= ?), 0)"] * len(bounds))
        query = f"SELECT {counts}, coalesce(sum(took_ms), 0.0), count(*) FROM retrievals WHERE action = ?"  # noqa: S608
        (row,) = self._flush().run(query, (*bounds, QUERY))
        return list(row[:-2]), float(row[-2]), int(row[-1])

    def withheld(self) -> dict[str, int]:
        """Count the withheld entries by reason."""
        query = (
            "SELECT json_extract(one.value, '$[0]') AS why, sum(json_array_length(json_extract(one.value, '$[1]')))"
            " FROM retrievals, json_each(retrievals.withheld) AS one GROUP BY why ORDER BY why"
        )
        return {str(row[0]): int(row[1]) for row in self._flush().run(query)}

    def details(self, action: str) -> dict[str, int]:
        """Return the sums of an action's counts by name, and as `times.NAME` how often each was not 0."""
        query = (
            "SELECT one.key, sum(one.value), sum(one.value > 0) FROM retrievals, json_each(retrievals.details) AS one"
            " WHERE action = ? GROUP BY one.key"
        )
        found: dict[str, int] = {}
        for key, total, times in self._flush().run(query, (action,)):
            found[key], found[f"times.{key}"] = int(total), int(times)
        return found


def _row(line: bytes) -> list[object] | None:
    """Return the values of a line; None for one left incomplete by a killed process."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, list) and len(row) == _INSERT.count("?") else None


def add_columns(connection: sqlite3.Connection) -> None:
    """Add the columns that a table of an earlier version lacks."""
    existing = {row[1] for row in connection.execute("PRAGMA table_info(retrievals)")}
    for name, kind in _ADDED.items():
        if name not in existing:
            connection.execute(f"ALTER TABLE retrievals ADD COLUMN {name} {kind}")


def _read(rows: Sequence[tuple[Any, ...]]) -> list[ActivityLine]:
    found = []
    for row in rows:
        ids, scores, withheld, details = (json.loads(row[at]) for at in (5, 6, 12, 13))
        reasons = tuple(Withheld(why, tuple(of)) for why, of in withheld)
        values = (*row[:5], tuple(ids), tuple(scores), *row[7:12], reasons, details, row[14])
        found.append(ActivityLine._make(values))
    return found
