"""Tools for the entities of other memories: observations, types, relationships."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from engram.domain.agents.neutralization import neutralize
from engram.domain.entry.lore import slug
from engram.domain.graph.entity import TYPES
from engram.domain.graph.entity_rules import name_of_id
from engram.mcp.tools.tool import answer, by_name, lore_tool, writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.app import Engram


class Observed(BaseModel):
    """Observations of an entity."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    name: str = Field(alias="entityName")
    contents: list[str]


class Entity(BaseModel):
    """An entity with observations."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    name: str
    kind: str = Field(default="", alias="entityType")
    observations: list[str]


class Noted(BaseModel):
    """The recorded or known entries, and the refused ones with the reason."""

    ids: list[str]
    refused: list[str] = []


@lore_tool("Record facts about entities", writing(), index=False)
def compat_add_observations(engram: Engram, observations: list[Observed]) -> Annotated[CallToolResult, Noted]:
    """A fact for each observation, which names its entity."""
    observed = [(entity.name, text, ()) for entity in observations for text in entity.contents]
    return _observe(engram, observed, {})


@lore_tool("Record entities", writing())
def compat_create_entities(engram: Engram, entities: list[Entity]) -> Annotated[CallToolResult, Noted]:
    """A fact for each observation, which names its entity and has its type as a tag."""
    kinds = {entity.name: entity.kind.strip().lower() for entity in entities}
    observed = [
        (entity.name, text, (slug(entity.kind),) if entity.kind else ())
        for entity in entities
        for text in entity.observations
    ]
    return _observe(engram, observed, kinds)


def _observe(
    engram: Engram, observed: Sequence[tuple[str, str, Sequence[str]]], types: Mapping[str, str]
) -> CallToolResult:
    from engram.usecases.recording.record import Draft

    for name, kind in types.items():
        engram.link_entity(name, type=kind if kind in TYPES else "")
    drafts = [
        Draft(text, "FACT", entities=(name_of_id(name),), tags=tuple(tags)) for name, text, tags in observed
    ]
    done = engram.record_all(drafts)
    refused = [
        neutralize(f"of {draft.entities[0]}: {outcome.error}", is_checked=False)
        for draft, outcome in zip(drafts, done, strict=True)
        if outcome.error
    ]
    data = Noted(ids=[outcome.id for outcome in done if outcome.id], refused=refused)
    lines = [f"Recorded {', '.join(data.ids) or 'nothing'}", *[f"Refused: {line}" for line in data.refused]]
    return answer("\n".join(lines), data)


class Way(BaseModel):
    """A relationship to another entity."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    to: str = Field(validation_alias=AliasChoices("toEntityId", "targetId"))
    kind: str = Field(alias="relationType")
    since: str | None = None


class Relation(BaseModel):
    """Two entities and how they are related."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    one: str = Field(alias="from")
    other: str = Field(alias="to")
    kind: str = Field(alias="relationType")


class Linked(BaseModel):
    """The linked entities: status by slug."""

    linked: dict[str, str]


@lore_tool("Link an entity", writing())
def compat_link(
    engram: Engram,
    name: str,
    entity_id: str = "",
    entity_type: str = "",
    relationships: list[Way] = [],  # noqa: B006 - pydantic copies it
    metadata: dict[str, Any] = {},  # noqa: B006 - pydantic copies it
) -> Annotated[CallToolResult, Linked]:
    """Make or change an entity; of ids like `person:ada` and `entity-ada` the end counts."""
    ways = [{"to": name_of_id(way.to), "kind": way.kind, "since": way.since or ""} for way in relationships]
    alias = name_of_id(entity_id)
    about: dict[str, Any] = {
        "type": entity_type,
        "aliases": (alias,) if alias and alias != slug(name) else (),
        "metadata": {slug(key).replace("-", "_"): _as_text(value) for key, value in metadata.items()},
    }
    return _link(engram, [(name, about), *((name, way) for way in ways)])


@lore_tool("Relate entities", writing())
def compat_relate(engram: Engram, relations: list[Relation]) -> Annotated[CallToolResult, Linked]:
    """Relate entities; those that are unknown are made."""
    return _link(engram, [(link.one, {"to": link.other, "kind": link.kind}) for link in relations])


def _link(engram: Engram, links: Sequence[tuple[str, dict[str, Any]]]) -> CallToolResult:
    done = [engram.link_entity(name, **about) for name, about in links]
    linked = {link.entity.slug: link.status for link in reversed(done)}
    summary = ", ".join(f"{name} ({status})" for name, status in reversed(linked.items()))
    return answer(f"Linked {summary or 'nothing'}", Linked(linked=linked))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


TOOLS = by_name(compat_add_observations, compat_create_entities, compat_link, compat_relate)
