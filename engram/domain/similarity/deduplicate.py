"""Folding: two entries of different clones that say the same become one. The older stays and gains the data of the other.

The result depends only on the two entries, so it is the same in every clone. docs/merge-rules.md has the reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from engram.domain.entry.lore import ACTIVE, ARCHIVED, MAX_ITEMS, words_mark
from engram.domain.entry.moments import MOST as MOST_MOMENTS
from engram.domain.merge.entry_merge import MINOR_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore

Item = TypeVar("Item")
# The fields of the remaining entry that a fold changes, besides `merged_from`.
_CHANGED = (
    *MINOR_FIELDS, "context", "tags", "files", "entities", "relations", "sources", "conflicts", "settled", "importance",
    "when", "pinned", "expires_at",
)  # fmt: skip


def may_fold(one: Lore, other: Lore) -> bool:
    """Test whether two entries may be folded if they say the same: of two sources, of one category, both active.

    Entries of one clone have two sources if they came from two clients of its server. If the texts are equal the category,
    which is often guessed, does not matter, and that of the older stays. An entry that was folded into the other before and
    exists again was restored by somebody, so it stays.
    """
    return (
        one.id != other.id
        and (one.category == other.category or words_mark(one.content) == words_mark(other.content))
        and one.status == other.status == ACTIVE
        and bool(one.source_id and other.source_id)
        and (one.source_id != other.source_id or not {*sources_of(one)} & {*sources_of(other)})
        and one.id not in other.merged_from
        and other.id not in one.merged_from
    )


def fold(older: Lore, younger: Lore) -> Lore | None:
    """Return the older entry with the data of the younger added; None if their lists do not fit into one file.

    `updated_at` becomes the later of the two, as when versions are merged. Judgements of the younger count for the older
    from then on, because of its `merged_from`.
    """
    sources = _unite(_sources_with_clone(older, younger), _sources_with_clone(younger, older))
    folded = older._replace(
        merged_from=_unite(older.merged_from, (younger.id, *younger.merged_from)),
        context=_unite(older.context, younger.context),
        tags=_unite(older.tags, younger.tags),
        files=_unite(older.files, younger.files),
        entities=_unite(older.entities, younger.entities),
        when=_unite(older.when, younger.when),
        relations=_unite(older.relations, [link for link in younger.relations if link.id != older.id]),
        sources=() if sources == (older.source_id,) else sources,
        conflicts=_unite(older.conflicts, younger.conflicts),
        settled=_unite(older.settled, younger.settled),
        importance=max((i for i in (older.importance, younger.importance) if i is not None), default=None),
        pinned=older.pinned or younger.pinned,
        expires_at=max(older.expires_at, younger.expires_at) if older.expires_at and younger.expires_at else None,
        created_at=min(older.created_at, younger.created_at),
        updated_at=max(older.updated_at, younger.updated_at),
    )  # fmt: skip
    lists = (folded.context, folded.tags, folded.files, folded.entities, folded.relations, folded.sources)
    is_long = len(folded.when) > MOST_MOMENTS or any(len(items) > MAX_ITEMS for items in lists)
    return None if is_long else folded


def may_follow(before: Lore, after: Lore) -> bool:
    """Test whether an edit only folded others into an entry or archived it, which agrees with folding it into another."""
    archived = before.status != after.status == ARCHIVED
    names = ("merged_from", *_CHANGED, *(["status"] if archived else []))
    grown = {*before.merged_from} < {*after.merged_from}
    return (grown or archived) and after._replace(**{name: getattr(before, name) for name in names}) == before


def sources_of(lore: Lore) -> tuple[str, ...]:
    """Return the sources of an entry: clones, and clients of servers."""
    return lore.sources or ((lore.source_id,) if lore.source_id else ())


def _sources_with_clone(lore: Lore, other: Lore) -> tuple[str, ...]:
    """Return the sources of an entry, with its clone if the other entry is of another clone."""
    clone = (lore.source_id,) if lore.source_id and lore.source_id != other.source_id else ()
    return _unite(clone, sources_of(lore))


def _unite(one: Sequence[Item], other: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys([*one, *other]))
