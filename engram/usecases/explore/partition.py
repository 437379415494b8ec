"""A memory in groups by what lore have in common, each with what describes it: a map to choose from before reading."""

from __future__ import annotations

from engram.domain.errors import UsageError
from engram.domain.explore.tables import Table
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.explore.explore import LIMITS, stores
from engram.usecases.explore.sql_query import asking
from engram.usecases.opening import scopes

if TYPE_CHECKING:
    from engram.usecases.store.store import Store

SCOPE = "scope"
_KEYED = {
    "category": "SELECT category AS key, id FROM lore",
    "type": "SELECT type AS key, id FROM lore",
    "tag": "SELECT tag AS key, id FROM tags",
    "agent": "SELECT coalesce(nullif(agent, ''), 'unknown') AS key, id FROM lore",
    "month": "SELECT substr(created_at, 1, 7) AS key, id FROM lore",
    SCOPE: "SELECT :scope AS key, id FROM lore",
    "file": "SELECT file AS key, id FROM files",
}
KEYS = tuple(_KEYED)
MOST = 100
_GROUPS = """
WITH keyed AS MATERIALIZED ({keyed}),
ranked AS (
    SELECT key, id, title, status, confidence, helpful, created_at, updated_at,
        row_number() OVER (PARTITION BY key ORDER BY helpful DESC, confidence DESC, updated_at DESC, id) AS place
    FROM keyed JOIN lore USING (id)),
groups AS (
    SELECT key, count(*) AS lore, sum(status = 'active') AS active, round(avg(confidence), 2) AS confidence,
        sum(helpful) AS helpful, min(created_at) AS oldest, max(updated_at) AS newest,
        max(iif(place = 1, id, '')) AS best, max(iif(place = 1, title, '')) AS title
    FROM ranked GROUP BY key ORDER BY lore DESC, key LIMIT :most)
SELECT key, lore, active, confidence, helpful, oldest, newest,
    coalesce((SELECT group_concat(tag, ' ') FROM (
        SELECT tag FROM keyed JOIN tags USING (id) WHERE keyed.key = groups.key AND tag != groups.key
        GROUP BY tag ORDER BY count(*) DESC, tag LIMIT 3)), '') AS tags,
    best, title
FROM groups ORDER BY lore DESC, key
"""


def partition(store: Store, key: str, *, scope: str = "", limit: int = 20, waiting: bool = True) -> Table:
    """The largest groups: how many lore, their confidence and dates, their commonest tags, the best one.

    Raises UsageError for a key that is none of `KEYS`, NotFoundError, StoreError.
    """
    if key not in KEYS:
        raise UsageError(f"Lore cannot be grouped by '{key}'.", f"Keys: {', '.join(KEYS)}.")
    if not 1 <= limit <= MOST:
        raise UsageError(f"The limit must be from 1 to {MOST}, not {limit}.")
    if key != SCOPE:
        return _groups(scopes.reach(store, scope), key, limit, waiting=waiting)
    found = [_groups(one, key, 1, name, waiting=waiting) for name, one in stores(store, scope)]
    return Table(key, found[0].columns, tuple(row for table in found for row in table.rows)[:limit])


def _groups(store: Store, key: str, limit: int, scope: str = "", *, waiting: bool) -> Table:
    with asking(store, "", waiting=waiting) as guarded:
        values = {"most": limit, "scope": scope}
        found = guarded.ask(key, _GROUPS.format(keyed=_KEYED[key]), values, LIMITS)
    return found._replace(columns=(key, *found.columns[1:]))
