"""Of the set `graph`: walking from an entity to those related to it, and to the lore about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import Field

from engram.mcp.caller import use
from engram.mcp.tables import Tables, shown
from engram.mcp.tools.arguments import Words
from engram.usecases.graph.neighbourhood import graph_tables

if TYPE_CHECKING:
    from engram.app import Engram


async def search_graph(
    entity: Annotated[str, Field(description="Name or alias; empty: what matters most here")] = "",
    depth: Annotated[int, Field(ge=1, le=3)] = 1,
    types: Annotated[Words, Field(description="person, project, company, concept, tool")] = (),
    kinds: Annotated[Words, Field(description="Relationships to go by; together: lore name both")] = (),
    scope: str = "",
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> Annotated[CallToolResult, Tables]:
    """Who and what is related to an entity, by which way, since when; the lore about them, best first."""

    def work(engram: Engram) -> CallToolResult:
        found = engram.search_graph(entity, depth, types=types, kinds=kinds, limit=limit, scope=scope)
        return shown(graph_tables(found))

    return await use(work)
