"""The tool `memory_query_raw`: the tables of another memory, under its names for tables and fields.

Rows come from the views that SQL can query, and from the lists of entities, agents and scopes.
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
_SELECTS = {  # a test runs each
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
        (entity.slug, entity.name, entity.type, " ".join(entity.aliases),
         ", ".join(f"{way.kind} {way.to} {way.since}".strip() for way in entity.relationships),
         ", ".join(f"{name}={value}" for name, value in entity.metadata))
        for entity in engram.entities()
    ))  # fmt: skip


def _agents(engram: Engram) -> Table:
    return Table("agents", ("agentId", "name", "capabilities", "defaultScope", "lastSeen"), tuple(
        (agent.profile.id, agent.profile.name, ", ".join(agent.profile.capabilities), agent.profile.default_scope,
         times.render(datetime.fromtimestamp(agent.seen_at, UTC)) if agent.seen_at else "")
        for agent in engram.team() if agent.registered
    ))  # fmt: skip


def _scopes(engram: Engram) -> Table:
    return Table("memory_scopes", ("name", "description", "writePolicy", "retentionDays", "facts"), tuple(
        (scope.name, scope.kind, "none" if scope.readonly else "members", scope.retention_days, scope.lore_count)
        for scope in engram.scopes()
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
    """Select rows with SQL, since there may be many. Raises UsageError for an unknown field."""
    inner = _SELECTS[name]
    columns = engram.execute(f"SELECT * FROM ({inner}) LIMIT 0", waiting=False).columns  # noqa: S608 - fixed text
    clauses, values = [], dict[str, Any]()
    for number, (field, wanted) in enumerate(conditions.items()):
        _check_field(name, field, columns)
        allowed = wanted if isinstance(wanted, list) else [wanted]
        if field == "factType":
            allowed = [engram.store.categories.near(str(value)) or value for value in allowed]
        variables = [f"v{number}_{place}" for place in range(len(allowed))]
        values |= dict(zip(variables, allowed, strict=True))
        if field in ("tags", "entityIds"):  # a row has several, separated by spaces
            matches = [f"instr(' ' || {field} || ' ', ' ' || :{variable} || ' ')" for variable in variables]
            clauses.append(f"({' OR '.join(matches) or '0'})")
        else:
            clauses.append(f"{field} IN ({', '.join(f':{variable}' for variable in variables)})")
    where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
    field, descending = _parse_order(sort)
    order = f" ORDER BY {_check_field(name, field, columns)}{' DESC' if descending else ''}" if field else ""
    found = engram.execute(
        f"SELECT * FROM ({inner}){where}{order} LIMIT {limit}",  # noqa: S608 - checked names, values apart
        values,
        limits=_LIMITS,
        waiting=False,
    )
    return found._replace(name=name)


def _filter_rows(table: Table, conditions: Conditions, sort: str, limit: int) -> Table:
    """Filter and order the rows of a short list. Raises UsageError for an unknown field."""
    rows = list(table.rows)
    for field, wanted in conditions.items():
        at = table.columns.index(_check_field(table.name, field, table.columns))
        allowed = [str(value) for value in (wanted if isinstance(wanted, list) else [wanted])]
        rows = [row for row in rows if str(row[at]) in allowed]
    field, descending = _parse_order(sort)
    if field:
        at = table.columns.index(_check_field(table.name, field, table.columns))
        rows.sort(key=lambda row: (isinstance(row[at], str), row[at] or 0), reverse=descending)
    return table._replace(rows=tuple(rows[:limit]), truncated=len(rows) > limit)


def _parse_order(sort: str) -> tuple[str, bool]:
    """Return the field to sort by, and whether the order is descending."""
    field, _, direction = sort.strip().replace(":", " ").partition(" ")
    return field.lstrip("+-"), field.startswith("-") or direction.strip().lower() in _DESCENDING


def _check_field(table: str, field: str, columns: Sequence[str]) -> str:
    """Return the field. Raises UsageError if the table does not have it."""
    if field not in columns:
        raise UsageError(f"{table} has no field '{field}'.", f"Fields: {', '.join(columns)}.")
    return field
