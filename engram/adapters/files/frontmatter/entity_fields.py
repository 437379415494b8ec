"""The keys of an entity's file: their values in file form, and their lines."""

from __future__ import annotations

from collections.abc import Callable

from engram.adapters.files.frontmatter import fields
from engram.adapters.files.frontmatter.fields import ExpectedError, choice, mappings, text_in
from engram.adapters.files.frontmatter.frontmatter import scalar
from engram.domain.graph.entity import TYPES, Relationship
from engram.domain.graph.entity_rules import OWN_KEYS, RELATED
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import KeyEntry, Value
    from engram.domain.graph.entity import Entity

KEYS = OWN_KEYS
RANKS = {key: rank for rank, key in enumerate(KEYS)}
_AFTER_METADATA = ("updated_at", "conflicts")


def parse(entries: list[KeyEntry]) -> dict[str, Any]:
    """Return the values in a frontmatter, with metadata as texts. Raises Problem with the line of the key."""
    values = fields.parse_by(_READERS, entries)
    for entry in entries:
        if entry.key not in RANKS:
            values[entry.key] = _as_text(entry.value)
    return values


def keys_with(*entities: Entity) -> tuple[str, ...]:
    """Return the keys in canonical order, with metadata in the order of the entities."""
    metadata = dict.fromkeys([key for entity in entities for key, _ in entity.metadata])
    first = [key for key in KEYS if key not in _AFTER_METADATA]
    return (*first, *metadata, *_AFTER_METADATA)


def lines(key: str, value: Any) -> list[str]:
    """Return the lines of one key, without line ends."""
    if key == "relationships":
        return [f"{key}: [{', '.join(map(_write_relationship, value))}]"]
    if key == "aliases" or key in _AFTER_METADATA:
        return fields.lines(key, value, "tags" if key == "aliases" else "")
    return fields.block(f"{scalar(key)}: ", value, 2)


def _write_relationship(edge: Relationship) -> str:
    since = f", since: {edge.since}" if edge.since else ""
    return f"{{kind: {scalar(edge.kind, flow=True)}, to: {scalar(edge.to, flow=True)}{since}}}"


def _parse_relationships(value: Value) -> tuple[Relationship, ...]:
    found = []
    for item in mappings(value):
        if item.keys() - set(Relationship._fields):
            raise ExpectedError("a list of mappings {kind: uses, to: zookeeper, since: 2024-01-31}")
        kind, to, since = (text_in(item, name).strip() for name in Relationship._fields)
        found.append(Relationship(kind or RELATED, to, since))
    return tuple(found)


def _as_text(value: Value) -> str:
    """Return metadata as a text: a list or a mapping becomes JSON."""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


_READERS: dict[str, Callable[[Value], Any]] = {
    "name": fields.stripped_text,
    "type": choice(TYPES),
    "aliases": fields.READERS["tags"],
    "relationships": _parse_relationships,
    "updated_at": fields.READERS["last_validated"],
    "conflicts": fields.READERS["conflicts"],
}
