"""The activity log: what queries, tools and hooks did on this machine, in the table `retrievals`.

The name is from when it held retrievals only; ranking and review still use those alone. A process that has not
opened the database appends a line to a file next to it, at a twentieth of the cost; the next user of the table
moves the lines into it.
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
SHOWING = (QUERY, "get", "brief")  # what puts lore before somebody
NO_COUNTS: Mapping[str, int] = MappingProxyType({})
MOST_KEPT = 100_000  # entries; about 40 MB
_LONGEST_QUERY = 2000
# With what came after the first version; `columns` adds it to a table that has less.
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
    """Entries that were near and not shown: why, in a few words, and their ids."""

    why: str
    ids: tuple[str, ...] = ()


class LiveEntry(NamedTuple):
    """One thing that was done. `at` in Unix seconds, `took_ms` in milliseconds, `tokens` about what was shown cost.

    `action` is `query` for what recalls; `record`, `feedback`, `get`, `forget`, `brief`, `ask`, `capture`, `import`, `skill`,
    `sync`. `via` says by which way: `cli`, `python`, `mcp`, `http`, `hook prompt` and so on. `number` grows; 0 is not
    written yet. `details` holds the counts of an action.
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


class LiveTable:
    """The entries of one state database."""

    def __init__(self, state: StateConnection) -> None:
        """Nothing is opened yet."""
        self._state = state

    def add(self, entry: LiveEntry) -> None:
        """Write an entry down. Raises StoreError, OSError."""
        values = (
            entry.at, entry.session, entry.query[:_LONGEST_QUERY], entry.strategy, entry.strength,
            json.dumps(entry.ids), json.dumps([round(score, 4) for score in entry.scores]), entry.took_ms,
            entry.action, entry.via, entry.agent, entry.tokens, json.dumps(entry.withheld), json.dumps(dict(entry.details)),
        )  # fmt: skip
        if self._state.is_open:
            self._flush().run(_INSERT, values)
            return
        line = f"{json.dumps(values)}\n".encode()
        handle = os.open(self._waiting, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def _claim(self) -> str:
        """Claim the file of waiting lines; "" where there is none, another process has it, or it cannot be moved."""
        waiting = self._waiting
        if not self._state.is_on_disk or not os.path.exists(waiting):  # mostly: cheaper than an error
            return ""
        try:
            os.rename(waiting, f"{waiting}.{os.getpid()}")
        except OSError:
            return ""
        return f"{waiting}.{os.getpid()}"

    def prune(self, most: int = MOST_KEPT) -> None:
        """Keep the latest `most` entries only."""
        self._flush().run(
            "DELETE FROM retrievals WHERE number <= (SELECT max(number) FROM retrievals) - ?", (most,)
        )

    def flush(self) -> None:
        """Move the waiting lines into the database."""
        if os.path.exists(self._waiting):
            self._flush()

    @property
    def _waiting(self) -> str:
        return os.path.join(os.path.dirname(self._state.path), "live.jsonl")

    def _flush(self) -> StateConnection:
        """Return the database with the waiting lines in it. A line written at this very moment may be lost."""
        mine = self._claim()
        if not mine:
            return self._state
        try:
            with open(mine, "rb") as file:
                lines = file.read().splitlines()
            self._state.run_many(_INSERT, [row for line in lines if (row := _row(line)) is not None])
        finally:
            if self._state.is_on_disk:
                os.unlink(mine)
            else:  # they cannot be written now
                os.rename(mine, self._waiting)
        return self._state

    def since(self, number: int, limit: int) -> list[LiveEntry]:
        """Return the entries after that number, oldest first, at most `limit`."""
        return _read(
            self._flush().run(f"{_SELECT} WHERE number > ? ORDER BY number LIMIT ?", (number, limit))
        )

    def latest(self, limit: int, action: str = "") -> list[LiveEntry]:
        """Return the latest entries (of one action), newest first."""
        where, values = ("WHERE action = ? ", [action]) if action else ("", [])
        return _read(self._flush().run(f"{_SELECT} {where}ORDER BY number DESC LIMIT ?", (*values, limit)))

    def shown_since(self, moment: float) -> set[str]:
        """Return the ids of the entries that were put before somebody since then (Unix seconds)."""
        query = (
            "SELECT DISTINCT value FROM retrievals, json_each(ids) WHERE at >= ?"
            " AND action IN (SELECT value FROM json_each(?))"
        )
        return {row[0] for row in self._flush().run(query, (moment, json.dumps(SHOWING)))}

    def answers(self, most: int) -> list[tuple[float, str, str]]:
        """What put lore before somebody, the latest `most`, newest first: when, the question ("" for none), the ids as JSON."""
        query = (
            "SELECT at, iif(action = ?, query, ''), ids FROM retrievals"
            " WHERE action IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT ?"
        )
        return [
            (row[0], row[1], row[2]) for row in self._flush().run(query, (QUERY, json.dumps(SHOWING), most))
        ]

    def answered(self, lore_id: str, limit: int) -> list[LiveEntry]:
        """Return the latest queries that showed one entry, newest first."""
        where = "WHERE action = ? AND instr(ids, ?) ORDER BY number DESC LIMIT ?"
        return _read(self._flush().run(f"{_SELECT} {where}", (QUERY, f'"{lore_id}"', limit)))

    def times_shown(self, lore_id: str) -> int:
        """Return in how many answers one entry was, without looking at the others."""
        query = "SELECT count(*) FROM retrievals WHERE action IN (SELECT value FROM json_each(?)) AND instr(ids, ?)"
        return int(self._flush().run(query, (json.dumps(SHOWING), f'"{lore_id}"'))[0][0])

    def shown_each(self, ids: Sequence[str]) -> dict[str, int]:
        """Return in how many answers each of these entries was; those that were in none are left out."""
        query = (
            "SELECT one.value, count(*) FROM retrievals, json_each(retrievals.ids) AS one"
            " WHERE action IN (SELECT value FROM json_each(?))"
            " AND one.value IN (SELECT value FROM json_each(?)) GROUP BY one.value"
        )
        rows = self._flush().run(query, (json.dumps(SHOWING), json.dumps([*ids])))
        return {str(lore_id): int(count) for lore_id, count in rows}

    def totals(self) -> list[tuple[str, str, int, int, int]]:
        """For each (action, via): how many retrievals, entries in them, tokens."""
        query = (
            "SELECT action, via, count(*), sum(json_array_length(ids)), sum(tokens) FROM retrievals"
            " GROUP BY action, via ORDER BY action, via"
        )
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self._flush().run(query)]

    def last_by_agent(self) -> dict[str, float]:
        """Return when each agent that said its name did something last (Unix seconds)."""
        query = "SELECT agent, max(at) FROM retrievals WHERE agent != '' GROUP BY agent"
        return {str(agent): float(at) for agent, at in self._flush().run(query)}

    def moments_of(self, session: str, since: float) -> list[float]:
        """Return when a session did something after a moment, the latest first (Unix seconds)."""
        query = "SELECT at FROM retrievals WHERE at > ? AND session = ? ORDER BY number DESC LIMIT 10000"
        return [float(at) for (at,) in self._flush().run(query, (since, session))]

    def latencies(self, bounds: Sequence[float]) -> tuple[list[int], float, int]:
        """Of all queries: how many took at most each of so many milliseconds, their sum, their number."""
        counts = ", ".join(["coalesce(sum(took_ms <= ?), 0)"] * len(bounds))
        query = f"SELECT {counts}, coalesce(sum(took_ms), 0.0), count(*) FROM retrievals WHERE action = ?"  # noqa: S608
        (row,) = self._flush().run(query, (*bounds, QUERY))
        return list(row[:-2]), float(row[-2]), int(row[-1])

    def withheld(self) -> dict[str, int]:
        """Return how many entries were withheld, by why."""
        query = (
            "SELECT json_extract(one.value, '$[0]') AS why, sum(json_array_length(json_extract(one.value, '$[1]')))"
            " FROM retrievals, json_each(retrievals.withheld) AS one GROUP BY why ORDER BY why"
        )
        return {str(row[0]): int(row[1]) for row in self._flush().run(query)}

    def details(self, action: str) -> dict[str, int]:
        """Return the sums of an action's counts by name, and under `times.NAME` how often each was not 0."""
        query = (
            "SELECT one.key, sum(one.value), sum(one.value > 0) FROM retrievals, json_each(retrievals.details) AS one"
            " WHERE action = ? GROUP BY one.key"
        )
        found: dict[str, int] = {}
        for key, total, times in self._flush().run(query, (action,)):
            found[key], found[f"times.{key}"] = int(total), int(times)
        return found


def _row(line: bytes) -> list[object] | None:
    """Return the values of a line; None for one that a killed process left unfinished."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, list) and len(row) == _INSERT.count("?") else None


def add_columns(connection: sqlite3.Connection) -> None:
    """Give the table of an earlier version the columns that it has not."""
    there = {row[1] for row in connection.execute("PRAGMA table_info(retrievals)")}
    for name, kind in _ADDED.items():
        if name not in there:
            connection.execute(f"ALTER TABLE retrievals ADD COLUMN {name} {kind}")


def _read(rows: Sequence[tuple[Any, ...]]) -> list[LiveEntry]:
    found = []
    for row in rows:
        ids, scores, withheld, details = (json.loads(row[at]) for at in (5, 6, 12, 13))
        reasons = tuple(Withheld(why, tuple(of)) for why, of in withheld)
        facts = (*row[:5], tuple(ids), tuple(scores), *row[7:12], reasons, details, row[14])
        found.append(LiveEntry._make(facts))
    return found
