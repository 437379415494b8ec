"""Merge two versions of one entity, or of one agent's profile, by the rules of lore for the fields that they have.

Symmetric, and a function of its arguments alone. Metadata are not here: they are merged as keys that nobody knows are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.domain.entry.lore import MAX_ITEMS
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.graph.team import AgentProfile
from engram.domain.merge.merge import (
    UNKNOWN,
    Edit,
    latest_of,
    losing,
    merge_conflicts,
    merge_list,
    new_conflicts,
    rank,
)
from engram.domain.merge.text_merge import merge_versions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.domain.entry.lore import Conflict

Named = Entity | AgentProfile


class Version(NamedTuple):
    """One side: the record of its file. `updated_at` is `merge.NEVER` where it has none, `digest` is that of its bytes."""

    record: Named
    updated_at: datetime
    conflicts: tuple[Conflict, ...] = ()
    digest: bytes = b""
    edit: Edit = UNKNOWN

    @property
    def written_at(self) -> datetime:
        """When it was written: as its history says, else as the file does."""
        return self.edit.at or self.updated_at


class Settled(NamedTuple):
    """The merged record, the fields in which the sides differed, and the new entries of `conflicts`.

    `contested` says that it mattered which side won.
    """

    version: Version
    fields: tuple[str, ...]
    losses: tuple[Conflict, ...]
    contested: bool = False


class _Field(NamedTuple):
    """A field in three versions; `is_new` says that there was no base. `lose` receives what loses."""

    before: Any
    one: Any
    other: Any
    is_new: bool
    lose: Callable[[str], None]


def in_order(ours: Version, theirs: Version, now: datetime) -> tuple[Version, Version]:
    """Return the winner and the loser, as for two versions of an entry."""
    ranks = [rank(side.written_at, side.digest, now) for side in (ours, theirs)]
    return (ours, theirs) if ranks[0] >= ranks[1] else (theirs, ours)


def merge(
    base: Version | None, winner: Version, loser: Version, now: datetime, foreign: Sequence[Conflict] = ()
) -> Settled:
    """Merge two versions in the order that `in_order` gave them; `foreign` are losing values of metadata."""
    losses = list(foreign)
    one, other = winner.record, loser.record
    found: dict[str, Any] = {}
    for name, rule in _RULES[type(one)].items():
        before = getattr(base.record if base else _nothing(one), name)

        def lose(value: str, name: str = name) -> None:
            losses.append(losing(name, value, loser.written_at, loser.edit, winner.edit))

        found[name] = rule(_Field(before, getattr(one, name), getattr(other, name), base is None, lose))
    conflicts = merge_conflicts(base.conflicts if base else (), winner.conflicts, loser.conflicts, losses)
    stamp = latest_of([winner.updated_at, loser.updated_at], now) or winner.updated_at
    fields = [name for name in one._fields if getattr(one, name) != getattr(other, name)]
    new = new_conflicts(losses, (*winner.conflicts, *loser.conflicts), conflicts)
    return Settled(Version(one._replace(**found), stamp, conflicts), tuple(fields), new, bool(losses))


def values(record: Named) -> tuple[object, ...]:
    """Return the fields that are merged here."""
    return tuple([getattr(record, name) for name in _RULES[type(record)]])


def _nothing(record: Named) -> Named:
    """Return a record with defaults only; the name of an agent defaults to its id."""
    return AgentProfile(record.id, record.id) if isinstance(record, AgentProfile) else Entity("", "", "")


def _scalar(field: _Field) -> str:
    before, one, other = field[:3]
    if before != one != other != before:
        field.lose(other)
    return str(other if one == before else one)


def _list(field: _Field) -> tuple[str, ...]:
    merged = merge_list(field.before, field.one, field.other)
    if len(merged) > MAX_ITEMS and merged not in (field.one, field.other):
        field.lose("\n".join(field.other))
        return tuple(field.one)
    return tuple(merged)


def _relationships(field: _Field) -> tuple[Relationship, ...]:
    """Merge relationships by kind and target; the date of each is a value of its own."""
    dates = [{(way.kind, way.to): way.since for way in ways} for ways in field[:3]]
    found = _table(dates, field.lose, lambda key, since: f"{key[0]} {key[1]} {since}")
    if found is None:
        field.lose("\n".join([" ".join(way).strip() for way in field.other]))
        return tuple(field.one)
    return tuple([Relationship(kind, to, since) for (kind, to), since in found.items()])


def _settings(field: _Field) -> tuple[tuple[str, str], ...]:
    """Merge settings key by key."""
    tables = [{(name,): value for name, value in pairs} for pairs in field[:3]]
    found = _table(tables, field.lose, lambda key, value: f"{key[0]}: {value}")
    if found is None:
        field.lose("\n".join([f"{name}: {value}" for name, value in field.other]))
        return tuple(field.one)
    return tuple([(name, value) for (name,), value in found.items()])


def _table(
    sides: Sequence[dict[Any, str]], lose: Callable[[str], None], shown: Callable[[Any, str], str]
) -> dict[Any, str] | None:
    """Merge values by key: keys merge as a list does, each value as a scalar; a changed value stays if the other side removed it.

    None where that is too much for one file.
    """
    before, one, other = sides
    old = [
        key
        for key, value in before.items()
        if (key in one and key in other) or all(side.get(key, value) == value for side in (one, other))
    ]
    keys = merge_list(old, list(one), list(other))
    if len(keys) > MAX_ITEMS:
        return None
    found = {}
    for key in keys:
        was, mine, yours = (side.get(key) for side in sides)
        if mine is not None and yours is not None and was != mine != yours != was:
            lose(shown(key, yours).strip())
        found[key] = (yours if mine in (was, None) and yours is not None else mine) or ""
    return found


def _text(field: _Field) -> str:
    """Merge the text as in lore; without a base an empty one loses."""
    one, other = str(field.one), str(field.other)
    if one == other:
        return one
    if field.is_new and not (one and other):
        return one or other
    merged, left = (one, other) if field.is_new else merge_versions(str(field.before), one, other)
    if merged != left:
        field.lose(left)
    return merged


_RULES: dict[type, dict[str, Callable[[_Field], Any]]] = {
    Entity: {
        "name": _scalar,
        "type": _scalar,
        "aliases": _list,
        "relationships": _relationships,
        "content": _text,
    },
    AgentProfile: {
        "name": _scalar,
        "capabilities": _list,
        "default_scope": _scalar,
        "settings": _settings,
        "text": _text,
    },
}
