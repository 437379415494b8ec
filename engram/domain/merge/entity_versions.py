"""Replace the winning version of an entity by the one that lost a merge."""

from __future__ import annotations

from engram.domain.entry.disputes import DELETED, FILE
from engram.domain.errors import UsageError
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.graph.entity_rules import OWN_KEYS, is_since
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Conflict


def take_version(entity: Entity, conflicts: Sequence[Conflict]) -> Entity | None:
    """Return the entity with the losing versions in `conflicts` in place of the winning ones; None if it was deleted.

    Of several versions of the same field the latest is taken. Raises UsageError for a conflict that needs an editor.
    """
    if any(entry.field == DELETED for entry in conflicts):
        return None
    for entry in sorted(conflicts, key=lambda entry: entry.at):
        entity = _set_field(entity, entry.field, entry.value)
    return entity


def _set_field(entity: Entity, field: str, value: str) -> Entity:
    if field == "name":
        return entity._replace(name=value)
    if field == "type":
        return entity._replace(type=value)
    if field == "content":
        return entity._replace(content=value)
    if field == "aliases":
        return entity._replace(aliases=tuple(value.split("\n")) if value else ())
    if field == "relationships":
        return entity._replace(relationships=_relationships(entity, value))
    # The conflict has a list or mapping as YAML, which cannot be set as a text.
    if field == FILE or field in OWN_KEYS or value.startswith(f"{field}:"):
        raise _editor_error(field)
    kept = {**dict(entity.metadata), field: value}
    return entity._replace(metadata=tuple([pair for pair in kept.items() if pair[1]]))


def _relationships(entity: Entity, value: str) -> tuple[Relationship, ...]:
    """Parse a version: a single line is a relationship with another date, several are all relationships."""
    relationships = [_relationship(line) for line in value.split("\n")]
    if len(relationships) > 1:
        return tuple(relationships)
    if not any(way[:2] == relationships[0][:2] for way in entity.relationships):
        raise _editor_error("relationships")
    return tuple(
        [relationships[0] if way[:2] == relationships[0][:2] else way for way in entity.relationships]
    )


def _relationship(line: str) -> Relationship:
    kind, _, rest = line.partition(" ")
    to, _, since = rest.rpartition(" ")
    return Relationship(kind, to, since) if to and is_since(since) else Relationship(kind, rest)


def _editor_error(field: str) -> UsageError:
    return UsageError(
        f"The other version of '{field}' cannot be applied on its own.",
        "Resolve it in your editor: both versions are in the file.",
    )
