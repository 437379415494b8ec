"""Folding: two entries of different clones that say the same become one. The older stays and takes what the other adds.

Depends on nothing but the two entries, so every clone gets the same result. docs/merge-rules.md has the reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from engram.domain.entry import ulid
from engram.domain.entry.confidence import MERGE_GAIN, Vote, larger
from engram.domain.entry.lore import ACTIVE, ARCHIVED, MAX_ITEMS
from engram.domain.merge.merge import PASSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.domain.entry.lore import Lore

Item = TypeVar("Item")
# What a fold changes of the lore that stays, besides `merged_from`.
_CHANGED = (
    *PASSING, "context", "tags", "files", "entities", "relations", "sources", "conflicts", "importance",
    "pinned", "expires_at",
)  # fmt: skip


def may_fold(one: Lore, other: Lore) -> bool:
    """Test whether two entries may be folded whatever their text: of two clones, of one category, both active.

    An entry that was folded into the other before and exists again was restored by somebody.
    """
    return (
        one.id != other.id
        and one.category == other.category
        and one.status == other.status == ACTIVE
        and bool(one.source_id and other.source_id)
        and one.source_id != other.source_id
        and one.id not in other.merged_from
        and other.id not in one.merged_from
    )


def fold(older: Lore, younger: Lore) -> Lore | None:
    """Return the older entry with what the younger adds; None if their lists do not fit into one file.

    `updated_at` becomes the later of the two, as when versions are merged. Repetition by the same source does not
    make an entry more certain: a vote account of its own takes the gain of such a fold back.
    """
    folded = fold_later(older, younger)
    if folded is None or _sources(folded) != _sources(older):
        return folded
    account = {f"same.{ulid.short(younger.id)}": Vote(0, MERGE_GAIN, 0)}
    return folded._replace(votes=dict(sorted({**folded.votes, **account}.items())))


def fold_later(older: Lore, younger: Lore) -> Lore | None:
    """Return the older entry, which has taken in the younger, with what the younger took in elsewhere in the meantime.

    None if their lists do not fit into one file.
    """
    sources = _joined(_sources(older), _sources(younger))
    folded = older._replace(
        votes=carry_votes(older.votes, younger.votes, younger.id),
        merged_from=_joined(older.merged_from, (younger.id, *younger.merged_from)),
        context=_joined(older.context, younger.context),
        tags=_joined(older.tags, younger.tags),
        files=_joined(older.files, younger.files),
        entities=_joined(older.entities, younger.entities),
        relations=_joined(older.relations, [link for link in younger.relations if link.id != older.id]),
        sources=() if sources == (older.source_id,) else sources,
        conflicts=_joined(older.conflicts, younger.conflicts),
        importance=max((i for i in (older.importance, younger.importance) if i is not None), default=None),
        pinned=older.pinned or younger.pinned,
        expires_at=_latest(older.expires_at, younger.expires_at) if older.expires_at and younger.expires_at else None,
        last_validated=_latest(older.last_validated, younger.last_validated),
        created_at=min(older.created_at, younger.created_at),
        updated_at=max(older.updated_at, younger.updated_at),
    )  # fmt: skip
    lists = (folded.context, folded.tags, folded.files, folded.entities, folded.relations, folded.sources)
    return None if any(len(items) > MAX_ITEMS for items in lists) else folded


def may_follow(before: Lore, after: Lore) -> bool:
    """Test whether an entry only took in others or was archived, which agrees with folding it into another."""
    archived = before.status != after.status == ARCHIVED
    names = ("merged_from", *_CHANGED, *(["status"] if archived else []))
    grown = {*before.merged_from} < {*after.merged_from}
    return (grown or archived) and after._replace(**{name: getattr(before, name) for name in names}) == before


def carry_votes(votes: Mapping[str, Vote], others: Mapping[str, Vote], lore_id: str) -> dict[str, Vote]:
    """Return the votes of an entry together with those of the entry `lore_id` that was folded into it.

    The latter keep an account of their own, `CLONE.LORE`: so a vote that arrives later, or twice, is counted once,
    which it would not be if the numbers were added to the clone's own.
    """
    found = dict(votes)
    for clone, vote in others.items():
        name = clone if "." in clone else f"{clone}.{ulid.short(lore_id)}"
        found[name] = larger([vote, *([found[name]] if name in found else [])])
    return dict(sorted(found.items()))


def _sources(lore: Lore) -> tuple[str, ...]:
    return lore.sources or ((lore.source_id,) if lore.source_id else ())


def _joined(one: Sequence[Item], other: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys([*one, *other]))


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((stamp for stamp in (one, other) if stamp is not None), default=None)
