"""Sums over the latest entries of the activity log: judgements by week, unanswered questions, durations of queries."""

from __future__ import annotations

from engram.adapters.state.activity_table import QUERY, SHOWING
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.state.database import StateDatabase

LATEST = 20_000  # entries to sum: more would take too long to wait for
_RECENT = "number > (SELECT coalesce(max(number), 0) FROM retrievals) - :latest"


class LiveSums:
    """The sums of one state database. Every method may raise StoreError."""

    def __init__(self, state: StateDatabase) -> None:
        """Flush the pending lines of the log into the database."""
        self._state = state
        state.live.flush()

    def judgements(self, start: float, span: float) -> dict[int, tuple[int, int, int]]:
        """Count the helpful, not relevant and incorrect ones by number of the span (seconds) after `start` (Unix seconds)."""
        sums = ", ".join(
            f"sum(coalesce(json_extract(details, '$.{kind}'), 0))"
            for kind in ("helpful", "not_relevant", "incorrect")
        )
        query = (
            f"SELECT CAST((at - :start) / :span AS INTEGER), {sums} FROM retrievals"  # noqa: S608 - fixed names
            f" WHERE {_RECENT} AND action = 'feedback' AND at >= :start GROUP BY 1"
        )
        rows = self._run(query, start=start, span=span)
        return {int(row[0]): (int(row[1]), int(row[2]), int(row[3])) for row in rows}

    def unanswered(self, limit: int) -> tuple[int, list[tuple[str, int, float]]]:
        """Count the questions that found nothing when last asked; return that and the most frequent: text, times, last time."""
        grouped = (
            "SELECT query, sum(ids = '[]') AS times, max(at) AS last FROM retrievals"  # noqa: S608 - fixed names
            f" WHERE {_RECENT} AND action = '{QUERY}' AND query != '' GROUP BY query"
            " HAVING max(CASE WHEN ids = '[]' THEN number END) = max(number)"
        )
        rows = self._run(f"{grouped} ORDER BY times DESC, last DESC LIMIT :limit", limit=limit)
        total = self._run(f"SELECT count(*) FROM ({grouped})")[0][0]  # noqa: S608 - fixed names
        return int(total), [(row[0], int(row[1]), float(row[2])) for row in rows]

    def took_ms(self, most: int) -> list[float]:
        """Return the durations of the latest queries (at most `most`) in milliseconds, shortest first."""
        query = f"SELECT took_ms FROM retrievals WHERE {_RECENT} AND action = '{QUERY}' ORDER BY number DESC LIMIT :most"  # noqa: S608
        return sorted(float(row[0]) for row in self._run(query, most=most))

    def shown(self) -> list[str]:
        """Return the ids of all entries that were shown."""
        actions = ", ".join(f"'{action}'" for action in SHOWING)
        query = (
            f"SELECT DISTINCT value FROM retrievals, json_each(ids) WHERE {_RECENT} AND action IN ({actions})"  # noqa: S608
        )
        return [str(row[0]) for row in self._run(query)]

    def outcomes(self, action: str) -> dict[str, tuple[int, int]]:
        """Count, by entry id, how often an action was done and how often it succeeded."""
        query = (
            "SELECT one.value, count(*), sum(coalesce(json_extract(details, '$.successes'), 0))"  # noqa: S608 - fixed names
            f" FROM retrievals, json_each(ids) AS one WHERE {_RECENT} AND action = :action GROUP BY 1"
        )
        return {str(row[0]): (int(row[1]), int(row[2])) for row in self._run(query, action=action)}

    def _run(self, query: str, **values: object) -> list[tuple]:  # type: ignore[type-arg]
        return self._state.run(query, {"latest": LATEST, **values})  # type: ignore[arg-type]
