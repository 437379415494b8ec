"""A first look at a memory: how much of what there is, its commonest tags, its dates, a few samples."""

from __future__ import annotations

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.explore.explore import LIMITS, MOST_SAMPLES
from engram.usecases.explore.sql_query import asking
from engram.usecases.opening import scopes

if TYPE_CHECKING:
    from engram.domain.explore.tables import Table
    from engram.usecases.store.store import Store

_QUESTIONS = {
    "types": "SELECT type, count(*) AS lore FROM lore GROUP BY 1 ORDER BY 2 DESC, 1",
    "statuses": "SELECT status, count(*) AS lore FROM lore GROUP BY 1 ORDER BY 2 DESC, 1",
    "tags": "SELECT tag, count(*) AS lore FROM tags GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20",
    "dates": "SELECT min(created_at) AS oldest, max(created_at) AS newest, max(updated_at) AS changed FROM lore",
    "samples": "SELECT id, category, confidence, title FROM lore WHERE status = 'active'"
    " ORDER BY helpful DESC, confidence DESC, updated_at DESC, id LIMIT :samples",
}


def peek(store: Store, *, scope: str = "", samples: int = 3, waiting: bool = True) -> tuple[Table, ...]:
    """Counts by type and status, the commonest tags, from when to when, and the best few.

    Raises UsageError, NotFoundError, StoreError.
    """
    if not 1 <= samples <= MOST_SAMPLES:
        raise UsageError(f"{samples} lore cannot be shown.", f"From 1 to {MOST_SAMPLES}.")
    with asking(scopes.reach(store, scope), "", waiting=waiting) as guarded:
        tables = [
            guarded.ask(name, sql, {"samples": samples} if ":samples" in sql else (), LIMITS)
            for name, sql in _QUESTIONS.items()
        ]
    return tuple(map(_without_nothing, tables))


def _without_nothing(table: Table) -> Table:
    """The table without rows that hold nothing: the dates of an empty store."""
    return table._replace(rows=tuple(row for row in table.rows if any(cell is not None for cell in row)))
