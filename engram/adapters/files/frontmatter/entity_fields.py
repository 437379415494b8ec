"""What the keys of an entity's file mean, in file form, and the lines in which they are written."""

from __future__ import annotations

from collections.abc import Callable

from engram.adapters.files.frontmatter import fields
from engram.adapters.files.frontmatter.fields import ExpectedError, choice, mappings, part
from engram.adapters.files.frontmatter.frontmatter import scalar
from engram.domain.graph.entity import TYPES, Relationship
from engram.domain.graph.entity_rules import OWN_KEYS, RELATED
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import Entry, Value
    from engram.domain.graph.entity import Entity

KEYS = OWN_KEYS
RANKS = {key: rank for rank, key in enumerate(KEYS)}
_AFTER_METADATA = ("updated_at", "conflicts")


def parse(entries: list[Entry]) -> dict[str, Any]:
    """Return what a frontmatter says, metadata as texts. Raises Problem with the line of the key."""
    values = fields.parse_by(_READERS, entries)
    for entry in entries:
        if entry.key not in RANKS:
            values[entry.key] = _as_text(entry.value)
    return values


def keys_with(*entities: Entity) -> tuple[str, ...]:
    """Return the keys in the order in which they are written, metadata in the order of the entities."""
    metadata = dict.fromkeys([key for entity in entities for key, _ in entity.metadata])
    first = [key for key in KEYS if key not in _AFTER_METADATA]
    return (*first, *metadata, *_AFTER_METADATA)


def lines(key: str, value: Any) -> list[str]:
    """Return the lines of one key, without line ends."""
    if key == "relationships":
        return [f"{key}: [{', '.join(map(_relationship, value))}]"]
    if key == "aliases" or key in _AFTER_METADATA:
        return fields.lines(key, value, "tags" if key == "aliases" else "")
    return fields.block(f"{scalar(key)}: ", value, 2)


def _relationship(way: Relationship) -> str:
    since = f", since: {way.since}" if way.since else ""
    return f"{{kind: {scalar(way.kind, flow=True)}, to: {scalar(way.to, flow=True)}{since}}}"


def _relationships(value: Value) -> tuple[Relationship, ...]:
    found = []
    for item in mappings(value):
        if item.keys() - set(Relationship._fields):
            raise ExpectedError("a list of mappings {kind: uses, to: zookeeper, since: 2024-01-31}")
        kind, to, since = (part(item, name).strip() for name in Relationship._fields)
        found.append(Relationship(kind or RELATED, to, since))
    return tuple(found)


def _as_text(value: Value) -> str:
    """Return a list or a mapping as JSON: metadata are texts."""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


_READERS: dict[str, Callable[[Value], Any]] = {
    "name": fields.stripped_text,
    "type": choice(TYPES),
    "aliases": fields.READERS["tags"],
    "relationships": _relationships,
    "updated_at": fields.READERS["last_validated"],
    "conflicts": fields.READERS["conflicts"],
}
