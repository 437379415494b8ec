"""The items of the review queue as a sequence; those about a single entry are made when they are read.

In a neglected store every entry may be stale: 100,000 items would take ten seconds and 200 MB.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from engram.domain.review.review import KINDS, Item
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    Maker = Callable[[str, tuple[object, ...]], Item]


class PackedItem(NamedTuple):
    """An item about one entry, not yet made: the input of `make`, and the fields by which lists sort and filter.

    `author` is that of the entry, or that of its commit where the entry has none.
    """

    id: str
    kind: str
    score: int
    at: float
    entry_id: str
    packed: bytes
    make: Maker
    author: str = ""

    @property
    def lore(self) -> tuple[str, ...]:
        """The ids of its entries."""
        return (self.entry_id,)

    def unpack(self) -> Item:
        """Make the item."""
        item = self.make(self.entry_id, marshal.loads(self.packed))  # noqa: S302 - packed in this process
        return item._replace(author=self.author)


class Items(Sequence[Item]):
    """Items in order; packed ones are made anew each time they are read."""

    def __init__(self, found: Iterable[Item | PackedItem] = ()) -> None:
        self.found: list[Item | PackedItem] = list(found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Items(self.found[index])
        item = self.found[index]
        return item.unpack() if isinstance(item, PackedItem) else item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def ordered(self) -> Items:
        """Return the items by worth times certainty; equal ones keep their order."""
        return Items(sorted(self.found, key=attrgetter("score"), reverse=True))

    def ids(self) -> list[str]:
        """Return the ids of the items, in order."""
        return [one.id for one in self.found]

    def place_of(self, item_id: str) -> int | None:
        """Return the index of the item with this id; None if there is none."""
        return next((index for index, one in enumerate(self.found) if one.id == item_id), None)

    def of(self, wanted: Callable[[Item | PackedItem], bool]) -> Items:
        """Return the items that meet a condition, tested without making them."""
        return Items([one for one in self.found if wanted(one)])

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of items of each kind, the most urgent first."""
        counts = dict.fromkeys(KINDS, 0)
        for item in self.found:
            counts[item.kind] += 1
        return {kind: number for kind, number in counts.items() if number}
