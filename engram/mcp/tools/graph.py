"""The set `graph`: tools to define and relate entities, and to query the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult
from pydantic import BaseModel

from engram.domain.agents.neutralization import neutralize
from engram.mcp.tables import Tables, present_tables
from engram.mcp.tools.tool import answer, by_name, lore_tool, reading, writing
from engram.operations.graph import GRAPH, LINK
from engram.usecases.graph.neighbourhood import graph_tables

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.graph.link_entity import Linked


class Related(BaseModel):
    """A relationship to another entity, by slug."""

    kind: str
    to: str
    since: str = ""


class EntityLinked(BaseModel):
    """The entity after the change: `status` is created, changed, unchanged or removed; `lore` the id of the linked entry."""

    status: str
    slug: str
    name: str
    type: str
    aliases: list[str] = []
    relationships: list[Related] = []
    lore: str = ""


@lore_tool("Link an entity", writing(destructive=True), LINK, type={"default": None})
def link_entity(engram: Engram, **given: Any) -> Annotated[CallToolResult, EntityLinked]:
    """Make or change an entity (person, project, company, concept, tool), relate it to another, name it in lore."""
    given["type"] = given["type"] or ""
    return _present_link(engram.link_entity(**given))


def _present_link(done: Linked) -> CallToolResult:
    entity = done.entity
    ways = [Related(kind=way.kind, to=way.to, since=way.since) for way in entity.relationships]
    data = EntityLinked(
        status=done.status, slug=entity.slug, name=neutralize(entity.name), type=entity.type,
        aliases=[neutralize(alias) for alias in entity.aliases], relationships=ways, lore=done.lore,
    )  # fmt: skip
    lines = [f"{data.status}: {data.slug} ({data.type}) {data.name}"]
    lines += [f"aliases: {', '.join(data.aliases)}"] if data.aliases else []
    lines += [f"{way.kind} {way.to} {way.since}".strip() for way in ways]
    lines += [f"{done.other} is new, too"] if done.made_other else []
    lines += [f"in lore {done.lore}"] if done.lore else []
    return answer("\n".join(lines), data)


@lore_tool("Walk the graph", reading(), GRAPH)
def search_graph(engram: Engram, **given: Any) -> Annotated[CallToolResult, Tables]:
    """Find who and what is related to an entity, how and since when, and the lore about them, best first."""
    return present_tables(graph_tables(engram.search_graph(**given)))


TOOLS = by_name(link_entity, search_graph)
