"""Entities: people, projects, companies, concepts and tools that entries are about, and their relationships."""

from __future__ import annotations

from engram.domain.entry.refs import fold
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TYPES = ("person", "project", "company", "concept", "tool")


class Relationship(NamedTuple):
    """A relationship to another entity: its kind (a word such as `uses`), the slug, and its start date ("": unknown)."""

    kind: str
    to: str
    since: str = ""


class Entity(NamedTuple):
    """One entity, kept in `entities/<slug>.md` below the lore folder; its slug is its identity.

    `metadata` has the remaining facts, in the order of the file; `content` is a description in markdown.
    """

    slug: str
    name: str
    type: str
    aliases: tuple[str, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    content: str = ""


def by_name(entities: Iterable[Entity], fold: Callable[[str], str] = fold) -> dict[str, tuple[str, ...]]:
    """Map each folded slug, name or alias to the slugs that it may mean; several if it is ambiguous."""
    found: dict[str, dict[str, None]] = {}
    for entity in entities:
        for name in (entity.slug, entity.name, *entity.aliases):
            found.setdefault(fold(name), {})[entity.slug] = None
    return {name: tuple(slugs) for name, slugs in found.items()}


def entity_json(entity: Entity) -> dict[str, object]:
    """Return an entity as JSON, as every front end prints it."""
    return {
        "slug": entity.slug,
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "relationships": [relationship._asdict() for relationship in entity.relationships],
        "metadata": dict(entity.metadata),
        "content": entity.content,
    }
