"""Explore a large store: by level (scopes, kinds, fields, samples), at a glance (`peek`), in groups (`partition`)."""

from __future__ import annotations

import contextlib
import json

from engram.domain.errors import UsageError
from engram.domain.explore.tables import Limits, Table
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.explore.recorders import find_recorders
from engram.usecases.explore.sql_query import OTHER_NAMES, VIEWS, open_guarded
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.sql.guarded import Guarded
    from engram.domain.explore.tables import Cell, View
    from engram.usecases.store.store import Store

SCOPES, KINDS, FIELDS, SAMPLES = LEVELS = range(4)
ALL = "all"  # stands for every scope
MOST_SAMPLES = 20
LIMITS = Limits(rows=200, characters=40_000, seconds=20.0)  # of built-in queries
_COUNTS = (
    "SELECT count(*) AS lore, coalesce(sum(status = 'active'), 0) AS active, coalesce(sum(status = 'pending'), 0) AS pending,"
    " max(updated_at) AS newest FROM lore"
)
_KINDS = (
    "SELECT category, type, count(*) AS lore, sum(status = 'active') AS active, round(avg(confidence), 2) AS confidence,"
    " sum(helpful) AS helpful, max(updated_at) AS newest FROM lore GROUP BY category, type ORDER BY lore DESC, category"
)


class Explored(NamedTuple):
    """One level of exploration, as tables."""

    depth: int
    scope: str
    tables: tuple[Table, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the level as JSON."""
        return {**self._asdict(), "tables": [table.as_dict() for table in self.tables]}


def explore(
    store: Store,
    depth: int = 0,
    *,
    scope: str = "",
    table: str = "",
    sample_size: int = 3,
    waiting: bool = True,
) -> Explored:
    """Return level 0: entries by scope; 1: entries by kind, and the tables; 2: fields of tables; 3: sample rows.

    With `table`, level 2 adds statistics of its fields; level 3 samples `table`, by default `lore`. For the scope `all`,
    levels 1 and 3 return tables for each scope. Raises UsageError, NotFoundError, StoreError.
    """
    if depth not in LEVELS:
        raise UsageError(
            f"The depth {depth} is out of range.",
            "0: scopes, 1: categories and tables, 2: fields, 3: samples.",
        )
    if not 1 <= sample_size <= MOST_SAMPLES:
        raise UsageError(f"The sample size {sample_size} is out of range.", f"Use 1 to {MOST_SAMPLES}.")
    views = _views_named(table)
    scope, everywhere = ("", True) if scope == ALL else (scope, False)
    if depth == SCOPES:
        return Explored(depth, scope, (_count_by_scope(store, scope, waiting=waiting),))
    if depth == FIELDS or not everywhere:
        chosen = scopes.open_scope_of(store, scope)
        found = _show_level(chosen, depth, views, sample_size, is_named=bool(table), waiting=waiting)
        return Explored(depth, chosen.places.scope, found)
    tables: list[Table] = []
    for name, other in stores(store, ""):
        found = _show_level(other, depth, views, sample_size, is_named=bool(table), waiting=waiting)
        tables += [each._replace(name=f"{name}: {each.name}") for each in found]
    return Explored(depth, ALL, tuple(tables))


def _show_level(
    store: Store, depth: int, views: list[View], sample_size: int, *, is_named: bool, waiting: bool
) -> tuple[Table, ...]:
    # Reading a long history for the first time takes a while, so it is opened only if named.
    with open_guarded(store, f"retrievals {views[0].name if is_named else ''}", waiting=waiting) as guarded:
        if depth == KINDS:
            return guarded.ask("kinds", _KINDS, (), LIMITS), _list_tables(guarded, views)
        if depth == FIELDS:
            if is_named:
                return (_describe_fields(guarded, views[0]),)
            return tuple(Table(view.name, ("field", "type", "what"), view.columns) for view in views)
        return (_sample(guarded, views[0], sample_size),)


def _views_named(table: str) -> list[View]:
    table = OTHER_NAMES.get(table, table)
    found = [view for view in VIEWS if table in ("", view.name)]
    if not found:
        raise UsageError(
            f"There is no table '{table}'.", f"Tables: {', '.join(view.name for view in VIEWS)}."
        )
    return found


def stores(store: Store, scope: str) -> Iterator[tuple[str, Store]]:
    """Open the store of the named scope, or all stores that can be opened, with their names."""
    if scope:
        yield scope, scopes.open_scope_of(store, scope)
        return
    for name in scopes.reachable_scopes(store):
        with contextlib.suppress(*scopes.TROUBLE):
            if scopes.exists(store, name):
                yield name, scopes.open_scope_of(store, name)


def _count_by_scope(store: Store, scope: str, *, waiting: bool) -> Table:
    """Count the entries of each scope."""
    rows: list[tuple[Cell, ...]] = []
    columns: tuple[str, ...] = ("scope",)
    for name, each in stores(store, scope):
        with open_guarded(each, "", waiting=waiting) as guarded:
            counts = guarded.ask("scopes", _COUNTS, (), LIMITS)
        rows.append((name, *counts.rows[0]))
        columns = ("scope", *counts.columns)
    return Table("scopes", columns, tuple(rows))


def _list_tables(guarded: Guarded, views: list[View]) -> Table:
    rows = [(view.name, _count(guarded, view), view.what) for view in views]
    return Table("tables", ("table", "rows", "what"), tuple(rows))


def _count(guarded: Guarded, view: View) -> Cell:
    if view.name == "history":
        return None
    return guarded.ask(view.name, f"SELECT count(*) FROM {view.name}", (), LIMITS).rows[0][0]  # noqa: S608 - fixed names


def _describe_fields(guarded: Guarded, view: View) -> Table:
    """Describe each column: type, meaning, filled rows, distinct values, minimum and maximum."""
    statistics = ", ".join(
        f"count(nullif({name}, '')), count(DISTINCT {name}), substr(min({name}), 1, 40), substr(max({name}), 1, 40)"
        for name in (column.name for column in view.columns)
    )
    values = guarded.ask(view.name, f"SELECT {statistics} FROM {view.name}", (), LIMITS).rows[0]  # noqa: S608 - fixed names
    rows = [(*column, *values[4 * index : 4 * index + 4]) for index, column in enumerate(view.columns)]
    return Table(view.name, ("field", "type", "what", "filled", "values", "lowest", "highest"), tuple(rows))


def _sample(guarded: Guarded, view: View, count: int) -> Table:
    """Sample rows evenly across the table, deterministically."""
    query = (
        f"WITH numbered AS (SELECT *, row_number() OVER () - 1 AS place, count(*) OVER () AS total FROM {view.name})"  # noqa: S608
        f" SELECT {', '.join(column.name for column in view.columns)} FROM numbered"
        " WHERE place * :count / total != (place - 1) * :count / total OR place = 0 LIMIT :count"
    )
    return guarded.ask(view.name, query, {"count": count}, LIMITS)


_PEEK_QUERIES = {
    "types": "SELECT type, count(*) AS lore FROM lore GROUP BY 1 ORDER BY 2 DESC, 1",
    "statuses": "SELECT status, count(*) AS lore FROM lore GROUP BY 1 ORDER BY 2 DESC, 1",
    "tags": "SELECT tag, count(*) AS lore FROM tags GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20",
    "dates": "SELECT min(created_at) AS oldest, max(created_at) AS newest, max(updated_at) AS changed FROM lore",
    "samples": "SELECT id, category, confidence, title FROM lore WHERE status = 'active'"
    " ORDER BY helpful DESC, confidence DESC, updated_at DESC, id LIMIT :samples",
}


def peek(store: Store, *, scope: str = "", samples: int = 3, waiting: bool = True) -> tuple[Table, ...]:
    """Return counts by type and status, the most frequent tags, the dates, and a few of the best entries.

    Raises UsageError, NotFoundError, StoreError.
    """
    if not 1 <= samples <= MOST_SAMPLES:
        raise UsageError(f"The number of samples {samples} is out of range.", f"Use 1 to {MOST_SAMPLES}.")
    with open_guarded(scopes.open_scope_of(store, scope), "", waiting=waiting) as guarded:
        tables = [
            guarded.ask(name, sql, {"samples": samples} if ":samples" in sql else (), LIMITS)
            for name, sql in _PEEK_QUERIES.items()
        ]
    return tuple(map(_without_empty_rows, tables))


def _without_empty_rows(table: Table) -> Table:
    """Drop rows without values: the dates of an empty store."""
    return table._replace(rows=tuple(row for row in table.rows if any(cell is not None for cell in row)))


SCOPE = "scope"
_KEY_QUERIES = {
    "category": "SELECT category AS key, id FROM lore",
    "type": "SELECT type AS key, id FROM lore",
    "tag": "SELECT tag AS key, id FROM tags",
    "agent": "SELECT coalesce(named.value, CASE WHEN agent IN ('', 'human') AND author != '' THEN author"
    " ELSE coalesce(nullif(agent, ''), 'unknown') END) AS key, id"
    " FROM lore LEFT JOIN (SELECT key AS named_id, value FROM json_each(:names)) AS named ON named_id = id",
    "month": "SELECT substr(created_at, 1, 7) AS key, id FROM lore",
    SCOPE: "SELECT :scope AS key, id FROM lore",
    "file": "SELECT file AS key, id FROM files",
}
KEYS = tuple(_KEY_QUERIES)
MOST_GROUPS = 100
_GROUP_QUERY = """
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
    """Return the largest groups: their counts, confidence, dates, most frequent tags, and best entry.

    Raises UsageError for a key not in `KEYS`, NotFoundError, StoreError.
    """
    if key not in KEYS:
        raise UsageError(f"Lore cannot be grouped by '{key}'.", f"Keys: {', '.join(KEYS)}.")
    if not 1 <= limit <= MOST_GROUPS:
        raise UsageError(f"The limit must be from 1 to {MOST_GROUPS}, not {limit}.")
    if key != SCOPE:
        return _group(scopes.open_scope_of(store, scope), key, limit, waiting=waiting)
    found = [_group(one, key, 1, name, waiting=waiting) for name, one in stores(store, scope)]
    return Table(key, found[0].columns, tuple(row for table in found for row in table.rows)[:limit])


def _recorder_names(store: Store) -> str:
    """Return the recorders of entries without an author, by id, as JSON."""
    found = query_index(store, lambda generation: find_recorders(store, generation.catalog))
    return json.dumps({lore_id: name for names in found.values() for lore_id, name in names.items()})


def _group(store: Store, key: str, limit: int, scope: str = "", *, waiting: bool) -> Table:
    with open_guarded(store, "", waiting=waiting) as guarded:
        values = {"most": limit, "scope": scope, "names": _recorder_names(store) if key == "agent" else "{}"}
        found = guarded.ask(key, _GROUP_QUERY.format(keyed=_KEY_QUERIES[key]), values, LIMITS)
    return found._replace(columns=(key, *found.columns[1:]))
