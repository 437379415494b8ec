"""How two versions of one entity become one: the rules of lore for the fields that an entity has.

Symmetric, and a function of its arguments alone. Metadata are not here: they are merged as keys that nobody knows are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.domain.entity import Entity, Relationship
from engram.domain.merge import latest_of, losing, merge_conflicts, merge_list, rank
from engram.domain.text_merge import merge_text
from engram.domain.validation import MAX_ITEMS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.domain.lore import Conflict


class Version(NamedTuple):
    """One side: what its file says. `updated_at` is `merge.NEVER` where it does not say when, `digest` is of its bytes."""

    entity: Entity
    updated_at: datetime
    conflicts: tuple[Conflict, ...] = ()
    digest: bytes = b""
    source: str = ""


class Settled(NamedTuple):
    """The merged entity, the fields in which the sides differed, and the new entries of `conflicts`."""

    version: Version
    fields: tuple[str, ...]
    losses: tuple[Conflict, ...]


def in_order(ours: Version, theirs: Version, now: datetime) -> tuple[Version, Version]:
    """The winner and the loser, as of two lore."""
    ranks = [rank(side.updated_at, side.digest, now) for side in (ours, theirs)]
    return (ours, theirs) if ranks[0] >= ranks[1] else (theirs, ours)


def merge(
    base: Version | None, winner: Version, loser: Version, now: datetime, foreign: Sequence[Conflict] = ()
) -> Settled:
    """Merge two versions in the order that `in_order` gave them; `foreign` are losing values of metadata."""
    losses = list(foreign)
    one, other = winner.entity, loser.entity
    before = base.entity if base else Entity(one.slug, "", "")
    found = one._replace(
        aliases=_list("aliases", before.aliases, winner, loser, losses),
        relationships=_relationships(before, winner, loser, losses),
        content=_text(base, winner, loser, losses),
        name=_scalar("name", before, winner, loser, losses),
        type=_scalar("type", before, winner, loser, losses),
    )
    conflicts = merge_conflicts(base.conflicts if base else (), winner.conflicts, loser.conflicts, losses)
    stamp = latest_of([winner.updated_at, loser.updated_at], now) or winner.updated_at
    fields = [name for name in Entity._fields if getattr(one, name) != getattr(other, name)]
    known = {(entry.field, entry.value) for entry in (*winner.conflicts, *loser.conflicts)}
    new = tuple([entry for entry in sorted(losses) if (entry.field, entry.value) not in known])
    return Settled(Version(found, stamp, conflicts), tuple(fields), new)


def _scalar(name: str, base: Entity, winner: Version, loser: Version, losses: list[Conflict]) -> str:
    before, one, other = (getattr(entity, name) for entity in (base, winner.entity, loser.entity))
    if before != one != other != before:
        losses.append(_loss(name, other, loser))
    return str(other if one == before else one)


def _list(
    name: str, before: tuple[str, ...], winner: Version, loser: Version, losses: list[Conflict]
) -> tuple[str, ...]:
    one, other = (getattr(side.entity, name) for side in (winner, loser))
    merged = merge_list(before, one, other)
    if len(merged) > MAX_ITEMS and merged not in (one, other):
        losses.append(_loss(name, "\n".join(other), loser))
        return tuple(one)
    return merged


def _relationships(
    base: Entity, winner: Version, loser: Version, losses: list[Conflict]
) -> tuple[Relationship, ...]:
    """A relationship is known by its kind and where it leads; its date is a value of its own."""
    before, one, other = (_dates(entity) for entity in (base, winner.entity, loser.entity))
    keys = merge_list(list(before), list(one), list(other))
    if len(keys) > MAX_ITEMS:
        shown = [" ".join(way).strip() for way in loser.entity.relationships]
        losses.append(_loss("relationships", "\n".join(shown), loser))
        return winner.entity.relationships
    found = []
    for kind, to in keys:
        old, mine, yours = (dates.get((kind, to)) for dates in (before, one, other))
        since = yours if mine in (old, None) and yours is not None else mine
        if mine is not None and yours is not None and old != mine != yours != old:
            losses.append(_loss("relationships", f"{kind} {to} {yours}".strip(), loser))
        found.append(Relationship(kind, to, since or ""))
    return tuple(found)


def _dates(entity: Entity) -> dict[tuple[str, str], str]:
    return {(way.kind, way.to): way.since for way in entity.relationships}


def _text(base: Version | None, winner: Version, loser: Version, losses: list[Conflict]) -> str:
    """The text, as of lore; without a base an empty one gives way."""
    one, other = winner.entity.content, loser.entity.content
    if one == other:
        return one
    if base is None and not (one and other):
        return one or other
    merged = merge_text(base.entity.content, one, other) if base else None
    if merged is None:
        losses.append(_loss("content", other, loser))
        return one
    return merged


def _loss(field: str, value: str, loser: Version) -> Conflict:
    return losing(field, value, loser.updated_at, loser.source)
