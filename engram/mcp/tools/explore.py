"""The set `explore`: tools to explore a large memory, and to query it in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from engram.domain.errors import UsageError
from engram.mcp.caller import use
from engram.mcp.tables import Tables, present_tables
from engram.mcp.tools.arguments import Words
from engram.mcp.tools.tool import by_name, lore_tool, reading
from engram.operations.explore import AGGREGATE, EXPLORE, PARTITION

if TYPE_CHECKING:
    from engram.app import Engram

Answer = Annotated[CallToolResult, Tables]
Values = dict[str, str | int | float | bool | None]


@lore_tool("Explore the memory", reading(), EXPLORE)
def engram_explore(engram: Engram, **given: Any) -> Answer:
    """Find your way in the memory. Depth 0: scopes; 1: kinds, tables; 2: fields (of `table`); 3: sample rows."""
    return present_tables(engram.explore(**given, waiting=False).tables)


@lore_tool("Ask in SQL", reading(), also={"surql": "sql"})
async def engram_execute(
    sql: Annotated[str, Field(description="One SELECT. Tables: engram_explore depth 2")],
    scope: str = "",
    parameters: Annotated[Values, Field(description="Values for :name")] = {},  # noqa: B006 - pydantic copies it
    allow_writes: bool = False,
) -> Answer:
    """Query the memory in SQLite's SQL, read-only: at most 50 rows and 2 seconds. Then recall_get by id."""
    if allow_writes:
        raise UsageError(
            "SQL is read-only: it queries the index, which is made from the files.",
            "Leave allow_writes out; recall_record, update_memory and recall_forget write.",
        )
    from engram.usecases.explore.sql_query import answer, prepare
    from engram.usecases.opening.scopes import open_scope_of

    guarded = await use(lambda engram: prepare(open_scope_of(engram.store, scope), sql, waiting=False))
    return await use(lambda _: present_tables([answer(guarded, sql, parameters)]), apart=True)


@lore_tool("First look", reading())
def memory_peek(engram: Engram, scope: str = "") -> Answer:
    """Take a first look: counts by type and status, top tags, dates, the best lore."""
    return present_tables(engram.peek(scope=scope, waiting=False))


@lore_tool("Group lore", reading(), PARTITION)
def memory_partition(engram: Engram, **given: Any) -> Answer:
    """Group the memory and describe each group: count, confidence, dates, tags, the best lore."""
    return present_tables([engram.partition(**given, waiting=False)])


@lore_tool("Join results", reading(), AGGREGATE)
def memory_aggregate(
    engram: Engram,
    lists: Annotated[list[Words], Field(description="Lists of ids or refs, each the best first")],
    **given: Any,
) -> Answer:
    """Merge several results into one ranking, by reciprocal rank fusion."""
    return present_tables([engram.aggregate(lists, **given, waiting=False)])


TOOLS = by_name(engram_explore, engram_execute, memory_peek, memory_partition, memory_aggregate)
