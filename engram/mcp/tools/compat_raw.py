"""What `memory_query_raw` does: rows of the tables that another memory has, by its names for them and their fields.

Rows come from the views that SQL may read, and from what the memory says of its entities, agents, scopes and syncs.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult
from pydantic import BeforeValidator, Field

from engram.domain.entry import times
from engram.domain.errors import UsageError
from engram.domain.explore.tables import Limits, Table
from engram.mcp.tables import Tables, present_tables
from engram.mcp.tools.compat_values import clamp_count
from engram.mcp.tools.tool import lore_tool, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.app import Engram

MOST = 50
_LIMITS = Limits(rows=MOST)
# A test runs each of them.
_SELECTS = {
    "facts": """
        SELECT id, title AS content, created_at AS timestamp, agent AS createdBy, category AS factType,
            confidence AS relevanceScore, importance AS importanceScore, helpful, status,
            (SELECT group_concat(entity, ' ') FROM entities WHERE entities.id = lore.id) AS entityIds,
            (SELECT group_concat(tag, ' ') FROM tags WHERE tags.id = lore.id) AS tags
        FROM lore""",
    "conversations": """
        SELECT id, title AS contextSummary, agent AS participants, created_at AS timestamp,
            (SELECT group_concat(tag, ' ') FROM tags WHERE tags.id = lore.id) AS tags
        FROM lore WHERE category = 'SESSION_SUMMARY'""",
    "sessions": """
        SELECT session AS id, max(agent) AS agentId, min(at) AS startTime, max(at) AS lastActivity,
            sum(action = 'record') AS factCount, count(*) AS actions
        FROM retrievals WHERE session != '' GROUP BY session""",
    "sync_log": """
        SELECT number AS id, at AS lastSyncTimestamp, agent AS nodeId, took_ms AS tookMs
        FROM retrievals WHERE action = 'sync'""",
}
_DESCENDING = ("desc", "-1")
Conditions = dict[str, Any]


def _entities(engram: Engram) -> Table:
    columns = ("entityId", "name", "type", "aliases", "relationships", "metadata")
    return Table("entities", columns, tuple(
        (one.slug, one.name, one.type, " ".join(one.aliases),
         ", ".join(f"{way.kind} {way.to} {way.since}".strip() for way in one.relationships),
         ", ".join(f"{name}={value}" for name, value in one.metadata))
        for one in engram.entities()
    ))  # fmt: skip


def _agents(engram: Engram) -> Table:
    return Table("agents", ("agentId", "name", "capabilities", "defaultScope", "lastSeen"), tuple(
        (one.profile.id, one.profile.name, ", ".join(one.profile.capabilities), one.profile.default_scope,
         times.render(datetime.fromtimestamp(one.seen_at, UTC)) if one.seen_at else "")
        for one in engram.team() if one.registered
    ))  # fmt: skip


def _scopes(engram: Engram) -> Table:
    return Table("memory_scopes", ("name", "description", "writePolicy", "retentionDays", "facts"), tuple(
        (one.name, one.kind, "none" if one.readonly else "members", one.retention_days, one.lore_count)
        for one in engram.scopes()
    ))  # fmt: skip


_LISTS: Mapping[str, Callable[[Engram], Table]] = {
    "entities": _entities,
    "agents": _agents,
    "memory_scopes": _scopes,
}
NAMES = (*_SELECTS, *_LISTS)


@lore_tool("Query a table", reading())
def compat_query_raw(
    engram: Engram,
    table: Annotated[str, Field(description=", ".join(NAMES))],
    filter: Annotated[Conditions, Field(description="Values by field")] = {},  # noqa: A002, B006 - the other memory's name; copied
    sort: Annotated[str, Field(description="A field; -field: descending")] = "",
    limit: Annotated[int, BeforeValidator(lambda value: clamp_count(value, MOST))] = 20,
) -> Annotated[CallToolResult, Tables]:
    """Rows of a table, read-only."""
    if table in _SELECTS:
        return present_tables([_select_rows(engram, table, filter, sort, limit)])
    if table in _LISTS:
        return present_tables([_filter_rows(_LISTS[table](engram), filter, sort, limit)])
    raise UsageError(f"There is no table '{table}'.", f"Tables: {', '.join(NAMES)}.")


def _select_rows(engram: Engram, name: str, conditions: Conditions, sort: str, limit: int) -> Table:
    """Select rows in SQL, which may be many. Raises UsageError for an unknown field."""
    inner = _SELECTS[name]
    columns = engram.execute(f"SELECT * FROM ({inner}) LIMIT 0", waiting=False).columns  # noqa: S608 - fixed text
    clauses, values = [], dict[str, Any]()
    for number, (field, wanted) in enumerate(conditions.items()):
        _check(name, field, columns)
        each = wanted if isinstance(wanted, list) else [wanted]
        if field == "factType":
            each = [engram.store.categories.near(str(one)) or one for one in each]
        names = [f"v{number}_{place}" for place in range(len(each))]
        values |= dict(zip(names, each, strict=True))
        if field in ("tags", "entityIds"):  # of which a row has several
            one_of = [f"instr(' ' || {field} || ' ', ' ' || :{one} || ' ')" for one in names]
            clauses.append(f"({' OR '.join(one_of) or '0'})")
        else:
            clauses.append(f"{field} IN ({', '.join(f':{one}' for one in names)})")
    where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
    field, descending = _order(sort)
    order = f" ORDER BY {_check(name, field, columns)}{' DESC' if descending else ''}" if field else ""
    found = engram.execute(
        f"SELECT * FROM ({inner}){where}{order} LIMIT {limit}",  # noqa: S608 - checked names, values apart
        values,
        limits=_LIMITS,
        waiting=False,
    )
    return found._replace(name=name)


def _filter_rows(table: Table, conditions: Conditions, sort: str, limit: int) -> Table:
    """Filter and order the rows of a list, which is short. Raises UsageError for an unknown field."""
    rows = list(table.rows)
    for field, wanted in conditions.items():
        at = table.columns.index(_check(table.name, field, table.columns))
        each = [str(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
        rows = [row for row in rows if str(row[at]) in each]
    field, descending = _order(sort)
    if field:
        at = table.columns.index(_check(table.name, field, table.columns))
        rows.sort(key=lambda row: (isinstance(row[at], str), row[at] or 0), reverse=descending)
    return table._replace(rows=tuple(rows[:limit]), truncated=len(rows) > limit)


def _order(sort: str) -> tuple[str, bool]:
    """Return the field to sort by, and whether the largest comes first."""
    field, _, way = sort.strip().replace(":", " ").partition(" ")
    return field.lstrip("+-"), field.startswith("-") or way.strip().lower() in _DESCENDING


def _check(table: str, field: str, columns: Sequence[str]) -> str:
    if field not in columns:
        raise UsageError(f"{table} has no field '{field}'.", f"Fields: {', '.join(columns)}.")
    return field
