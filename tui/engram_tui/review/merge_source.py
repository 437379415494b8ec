"""What the merge editor works on: the versions of a review item, and the lore that is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.domain.errors import UsageError
from engram.domain.review.review import ACCEPT, CONFLICT, MERGE
from engram_tui.review.item_details import Version, versions_of

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.domain.review.review import Item


class MergeSource(NamedTuple):
    """The versions, the one that stays first; `base` is what the decision would make of them by itself."""

    item: Item
    versions: tuple[Version, ...]
    base: Lore
    decision: str

    @property
    def joins(self) -> bool:
        """Whether several lore become one: then their lists do, too, unless somebody says otherwise."""
        return self.decision == MERGE


def read_source(store: Engram, item: Item) -> MergeSource:
    """The versions of an item of which one is to be made. Raises UsageError where there is only one, NotFoundError."""
    decision = ACCEPT if item.kind == CONFLICT else MERGE
    versions = versions_of(store, item)
    if len(versions) < 2:
        raise UsageError(
            "The other version is no text that could be merged here.", "e opens the file; it shows both."
        )
    made = store.decide(item, decision, dry_run=True).lore[item.lore[0]]
    if made is None:
        raise UsageError("Nothing would stay of it.", "a keeps what stands.")
    return MergeSource(item, tuple(versions), made, decision)
