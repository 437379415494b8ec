"""Entities: the people, projects, companies, concepts and tools that lore is about, and how they are related."""

from __future__ import annotations

from engram.domain.entry.refs import fold
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TYPES = ("person", "project", "company", "concept", "tool")


class Relationship(NamedTuple):
    """That an entity is related to another: how (a word such as `uses`), to which slug, since when ("": not said)."""

    kind: str
    to: str
    since: str = ""


class Entity(NamedTuple):
    """One entity, kept in `entities/<slug>.md` below the lore folder; its slug is its identity.

    `metadata` has the remaining facts, in the order of the file; `content` is what is said of it, in markdown.
    """

    slug: str
    name: str
    type: str
    aliases: tuple[str, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    content: str = ""


def by_name(entities: Iterable[Entity]) -> Mapping[str, tuple[str, ...]]:
    """The slugs that each folded slug, name or alias may mean; more than one: it is ambiguous."""
    found: dict[str, dict[str, None]] = {}
    for entity in entities:
        for name in (entity.slug, entity.name, *entity.aliases):
            found.setdefault(fold(name), {})[entity.slug] = None
    return {name: tuple(slugs) for name, slugs in found.items()}
