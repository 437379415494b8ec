"""Merge two versions of an entry: the rule for each of its fields."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from engram.domain.entry import times
from engram.domain.entry.confidence import Vote, larger
from engram.domain.entry.lore import Conflict, Lore, limit_after
from engram.domain.entry.moments import MOST as MOST_MOMENTS
from engram.domain.merge.merge import (
    UNKNOWN,
    Edit,
    Field,
    Rule,
    Settled,
    Version,
    differing,
    items,
    latest,
    merge_records,
    scalar,
    text,
    union_of,
)
from engram.domain.merge.settlements import merge_settlements, without_settled
from engram.domain.merge.text_merge import NO_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.domain.entry.categories import Categories

# Fields whose changes do not keep an entry that another clone deletes.
MINOR_FIELDS = ("votes", "last_validated", "created_at", "updated_at")


def version_of(lore: Lore, digest: bytes = b"", edit: Edit = UNKNOWN) -> Version:
    """Return an entry as one side of a merge."""
    return Version(lore, lore.updated_at, lore.conflicts, digest, edit)


def is_minor_change(before: Lore, after: Lore) -> bool:
    """Return whether a change is only of votes and dates, so that a deletion on another clone wins."""
    same = {name: getattr(before, name) for name in MINOR_FIELDS}
    return after._replace(**same) == before


def merge(
    base: Lore | None,
    winner: Version,
    loser: Version,
    categories: Categories,
    now: datetime,
    lost: Sequence[Conflict] = (),
    tight: bool = False,
) -> Settled:
    """Merge two versions of an entry in the order of `in_order`; the other parameters are those of `merge_records`.

    `tight` is for versions that do not fit into one file together: the winner's lists and text are kept, the loser's go
    into `conflicts`.
    """
    one, other = winner.record, loser.record
    before = base or Lore(one.id, NO_TEXT, "", one.created_at, one.updated_at, type="")
    settled, clashes = merge_settlements(before.settled, one.settled, other.settled)
    for clash in clashes:
        if clash.field == "content":
            before = before._replace(content=without_settled(before, clash))
    winner, loser = (
        side._replace(record=_without_defaults(side.record, categories)) for side in (winner, loser)
    )
    base_version = version_of(_without_defaults(before, categories))
    result = merge_records(base_version, winner, loser, _RULES, now, lost, tight, settled, clashes)
    merged = result.version.record
    lore = merged._replace(
        # A default type becomes that of the merged category.
        type=merged.type or categories.type_of(merged.category),
        updated_at=result.version.updated_at,
        conflicts=result.version.conflicts,
        settled=settled,
        **_merge_format_1(before, one, other, now),
    )
    return result._replace(version=version_of(lore), fields=differing(one, other))


def _without_defaults(lore: Lore, categories: Categories) -> Lore:
    """Return an entry without the default type of its category, and with its only source, which its file omits.

    Otherwise two changes of a category would be two conflicts.
    """
    is_default = lore.type == categories.type_of(lore.category)
    sources = lore.sources or ((lore.source_id,) if lore.source_id else ())
    return lore._replace(type="" if is_default else lore.type, sources=sources)


def _merge_format_1(before: Lore, one: Lore, other: Lore, now: datetime) -> dict[str, Any]:
    """Merge the fields of format 1. Accounts that one side moved to the ledger are only kept if the other changed them.

    A file that lost its frontmatter, and its id with it, has moved nothing.
    """
    has_moved = any(not side.votes and side.id == before.id for side in (one, other))
    moved = before.votes if has_moved else {}
    votes: dict[str, Vote] = {}
    for name in sorted(one.votes.keys() | other.votes.keys()):
        found = [side.votes[name] for side in (one, other) if name in side.votes]
        if any(vote != moved.get(name) for vote in found):
            votes[name] = larger(found)
    validated = [side.last_validated for side in (one, other) if votes and side.last_validated]
    return {"votes": votes, "last_validated": latest(validated, now) if validated else None}


def _content(field: Field) -> str:
    most = limit_after(field.one, field.other)
    return text(field, lambda found: 0 < len(found.strip()) <= most)


_LIST = Rule(items, "\n".join)
_RULES = {
    "category": Rule(scalar),
    "type": Rule(scalar),
    "status": Rule(scalar),
    "prior": Rule(scalar, lambda value: f"{value / 1000:.3f}"),
    "importance": Rule(scalar, lambda value: "" if value is None else str(value)),
    "pinned": Rule(scalar),  # of two values, so both sides never change it differently
    "expires_at": Rule(scalar, lambda value: times.render(value) if value else ""),
    "agent": Rule(scalar),
    "author": Rule(scalar),
    "source_id": Rule(scalar),
    "context": _LIST,
    "tags": _LIST,
    "files": _LIST,
    "entities": _LIST,
    "when": Rule(partial(items, most=MOST_MOMENTS), "\n".join),
    "sources": _LIST,
    "relations": Rule(items, lambda links: "\n".join(map(" ".join, links))),
    "content": Rule(_content),
    "merged_from": Rule(lambda field: union_of(field.one, field.other)),
    "created_at": Rule(lambda field: min(field.one, field.other)),
}
