"""Merge two versions of an entity or an agent's profile: the rule for each field.

Metadata are not covered here: they are merged like unknown keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.domain.entry.lore import MAX_ITEMS, Conflict
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.graph.team import AgentProfile
from engram.domain.merge.merge import (
    Field,
    Rule,
    Settled,
    Version,
    items,
    merge_list,
    merge_records,
    scalar,
    text,
)
from engram.domain.merge.text_merge import NO_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime


Named = Entity | AgentProfile


def merge(
    base: Version | None, winner: Version, loser: Version, now: datetime, lost: Sequence[Conflict] = ()
) -> Settled:
    """Merge two versions in the order of `in_order`; `lost` are losing values of metadata."""
    before = base or Version(_empty_record(winner.record), winner.updated_at)
    return merge_records(before, winner, loser, _RULES[type(winner.record)], now, lost)


def values(record: Named) -> tuple[object, ...]:
    """Return the values of the fields that are merged here."""
    return tuple([getattr(record, name) for name in _RULES[type(record)]])


def _empty_record(record: Named) -> Named:
    """Return a record with defaults only; the name of an agent defaults to its id."""
    if isinstance(record, AgentProfile):
        return AgentProfile(record.id, record.id, text=NO_TEXT)
    return Entity("", "", "", content=NO_TEXT)


def _merge_rows(field: Field) -> list[tuple[str, ...]]:
    """Merge rows that consist of a key and a last value: the keys as a list, the values as scalars.

    A changed row is kept if the other side removed it.
    """
    before, one, other = [{tuple(row[:-1]): row[-1] for row in side} for side in field[:3]]
    old = [
        key
        for key, value in before.items()
        if (key in one and key in other) or all(side.get(key, value) == value for side in (one, other))
    ]
    keys = merge_list(old, list(one), list(other))
    if len(keys) > MAX_ITEMS:
        return list(field.keep_winner())
    found = []
    for key in keys:
        base, ours, theirs = before.get(key), one.get(key), other.get(key)
        if ours is not None and theirs is not None and base != ours != theirs != base:
            field.lose(field.shown([(*key, theirs)]))
        found.append((*key, theirs if ours in (base, None) else ours))
    return found


def _merge_relationships(field: Field) -> tuple[Relationship, ...]:
    """Merge relationships by kind and target; the date of each is a value of its own."""
    return tuple(map(Relationship._make, _merge_rows(field)))


def _merge_settings(field: Field) -> tuple[tuple[str, ...], ...]:
    """Merge settings key by key."""
    return tuple(_merge_rows(field))


def _row_formatter(separator: str) -> Callable[[Any], str]:
    return lambda rows: "\n".join([separator.join(row).strip() for row in rows])


_RULES: Mapping[type, Mapping[str, Rule]] = {
    Entity: {
        "name": Rule(scalar),
        "type": Rule(scalar),
        "aliases": Rule(items, "\n".join),
        "relationships": Rule(_merge_relationships, _row_formatter(" ")),
        "content": Rule(text),
    },
    AgentProfile: {
        "name": Rule(scalar),
        "capabilities": Rule(items, "\n".join),
        "default_scope": Rule(scalar),
        "settings": Rule(_merge_settings, _row_formatter(": ")),
        "text": Rule(text),
    },
}
