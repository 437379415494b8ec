"""The set `graph`: tools with which an agent says what entities are and how they are related, and asks for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from engram.domain.agents.neutralization import neutralize
from engram.mcp.caller import use
from engram.mcp.tools.arguments import Words
from engram.mcp.tools.graph_walk import search_graph
from engram.mcp.tools.tool import LoreTool, answer, lore_tool, reading, writing

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.graph.link_entity import Linked


class Related(BaseModel):
    """A relationship to another entity, by its slug."""

    kind: str
    to: str
    since: str = ""


class EntityLinked(BaseModel):
    """The entity as it is now: `status` is created, changed, unchanged or removed; `lore` the id of the lore."""

    status: str
    slug: str
    name: str
    type: str
    aliases: list[str] = []
    relationships: list[Related] = []
    lore: str = ""


async def link_entity(
    name: Annotated[str, Field(description="Name, slug or alias; made if unknown")],
    type: Literal["person", "project", "company", "concept", "tool"] | None = None,  # noqa: A002
    aliases: Words = (),
    to: Annotated[str, Field(description="Another entity it is related to")] = "",
    kind: Annotated[str, Field(description="How: uses, works_on, ...")] = "",
    since: Annotated[str, Field(description="2024-01-31, 2024-01 or 2024")] = "",
    lore: Annotated[str, Field(description="Ref or id of a lore about it")] = "",
    text: Annotated[str, Field(description="What is to be said of it")] = "",
    remove: Annotated[bool, Field(description="Take what is named away, without any the entity")] = False,
) -> Annotated[CallToolResult, EntityLinked]:
    """Make or change an entity (person, project, company, concept, tool), relate it to another, name it in a lore."""

    def work(engram: Engram) -> CallToolResult:
        done = engram.link_entity(
            name,
            type=type or "",
            aliases=aliases,
            to=to,
            kind=kind,
            since=since,
            lore=lore,
            text=text,
            remove=remove,
        )
        return _told(done)

    return await use(work)


def _told(done: Linked) -> CallToolResult:
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


def tools() -> list[LoreTool]:
    """The tools of this set."""
    return [
        lore_tool(link_entity, "Link an entity", writing(destructive=True)),
        lore_tool(search_graph, "Walk the graph", reading()),
    ]
