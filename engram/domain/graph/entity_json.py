"""An entity as the JSON that every front end prints."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.domain.graph.entity import Entity


def entity_json(entity: Entity) -> dict[str, object]:
    """All of an entity."""
    return {
        "slug": entity.slug,
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "relationships": [way._asdict() for way in entity.relationships],
        "metadata": dict(entity.metadata),
        "content": entity.content,
    }
