"""The queue of the Inbox: its items in order, which of them a filter lists, and what was decided in this run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from engram.domain.review.review import CONFLICT, ENTITY, KINDS, Item
from engram.usecases.review.items import Items, PackedItem

if TYPE_CHECKING:
    QueueItem = Item | PackedItem

KIND_NAMES = {CONFLICT: "dispute", ENTITY: "disputed entity"}  # those that differ from the kind
BY_SCORE, NEWEST, OLDEST, BY_KIND = ORDERS = ("worth × certainty", "newest first", "oldest first", "by kind")


class ItemFilter(NamedTuple):
    """A filter of the list: words that all have to be in an item, a kind, who recorded it; "" is any."""

    text: str = ""
    kind: str = ""
    who: str = ""

    @property
    def narrows(self) -> bool:
        """Whether it excludes anything."""
        return any(self)

    def test(self) -> Callable[[QueueItem], bool]:
        """Return a function that says whether an item passes."""
        words = self.text.casefold().split()
        raw_words = [word.encode() for word in words]

        def passes(item: QueueItem) -> bool:
            if self.kind and item.kind != self.kind:
                return False
            if isinstance(item, PackedItem):
                if self.who and item.unpack().who != self.who:
                    return False
                if not words:
                    return True
                # The packed bytes contain title, path and agent as they are: no need to unpack them.
                raw = item.packed.lower() + item.author.casefold().encode()
                pairs = zip(raw_words, words, strict=True)
                return all(raw_word in raw or word in item.kind for raw_word, word in pairs)
            if self.who and item.who != self.who:
                return False
            names = item.kind, kind_name(item.kind), item.who
            line = " ".join([*names, *item.titles, item.title, item.why, item.proposed]).casefold()
            return all(word in line for word in words)

        return passes


def kind_name(kind: str) -> str:
    """Return the name of a kind for people."""
    return KIND_NAMES.get(kind, kind)


def group_items(items: Items) -> dict[str, list[QueueItem]]:
    """Group items by kind. For 100,000 this takes long: call it in the thread that reads them."""
    groups: dict[str, list[QueueItem]] = {}
    for item in items.found:
        groups.setdefault(item.kind, []).append(item)
    return groups


def sort_items(items: Iterable[QueueItem], order: str) -> list[QueueItem]:
    """Sort items."""
    if order == BY_KIND:
        rank = {kind: index for index, kind in enumerate(KINDS)}
        return sorted(sort_items(items, BY_SCORE), key=lambda item: rank[item.kind])
    if order in (NEWEST, OLDEST):
        return sorted(items, key=attrgetter("at"), reverse=order == NEWEST)
    return sorted(items, key=attrgetter("score"), reverse=True)


class InboxQueue:
    """All items by worth, those that are listed, and those that were decided."""

    def __init__(self) -> None:
        self.items: list[QueueItem] = []
        self._items_by_kind: dict[str, list[QueueItem]] = {}
        self.listed: list[QueueItem] = []
        self.filter = ItemFilter()
        self.order = BY_SCORE
        self.decided: dict[str, None] = {}  # ids, in the order of their decisions
        self._deciding: set[str] = set()  # ids whose decision is not yet written
        self._ever_decided: set[str] = set()  # ids decided in this run, even if undone since

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of items of each kind, in the order of urgency."""
        found = self._items_by_kind
        return {kind: len(found[kind]) for kind in KINDS if found.get(kind)}

    @property
    def share(self) -> float:
        """The share of items that were decided: 0 to 1."""
        total = len(self.decided) + len(self.items)
        return len(self.decided) / total if total else 1.0

    def list(self) -> None:
        """List the items that pass the filter, in order."""
        passes = self.filter.test()
        found = [item for item in self.items if passes(item)] if self.filter.narrows else self.items
        self.listed = list(found) if self.order == BY_SCORE else sort_items(found, self.order)

    def update(self, kinds: Collection[str], found: Mapping[str, Sequence[QueueItem]]) -> str:
        """Replace the items of these kinds by those that the store has now, by kind.

        Returns the id of an item whose decision was undone, so that it is there again ("": none).
        """
        after = {kind: [*found.get(kind, ())] for kind in kinds}
        if self._deciding:
            after = {
                kind: [item for item in items if item.id not in self._deciding]
                for kind, items in after.items()
            }
        before = {kind: self._items_by_kind.get(kind, []) for kind in kinds}
        if after == before:
            return ""
        returned: list[str] = []
        if self._ever_decided:
            ids_after = {item.id: None for item in chain(*after.values())}
            ids_before = {item.id: None for item in chain(*before.values())}
            added = [item_id for item_id in ids_after if item_id not in ids_before]
            removed = [item_id for item_id in ids_before if item_id not in ids_after]
            returned = [item_id for item_id in added if item_id in self._ever_decided]
            self.decided = {item_id: None for item_id in self.decided if item_id not in ids_after}
            self.decided |= {item_id: None for item_id in removed if item_id in self._ever_decided}
        self._items_by_kind |= after
        # Of equal worth the more urgent kind comes first, however often they are read.
        by_urgency = chain(*[self._items_by_kind.get(kind, ()) for kind in KINDS])
        self.items = sort_items(by_urgency, BY_SCORE)
        self.list()
        return returned[-1] if returned else ""

    def decide(self, ids: Collection[str]) -> None:
        """Remove items that are being decided."""
        decided = {*ids}
        self._deciding |= decided
        self._ever_decided |= decided
        self.decided.update(dict.fromkeys(ids))
        self._items_by_kind = {
            kind: [item for item in items if item.id not in decided]
            for kind, items in self._items_by_kind.items()
        }
        self.items = [item for item in self.items if item.id not in decided]
        self.listed = [item for item in self.listed if item.id not in decided]

    def finish(self, ids: Iterable[str], *, failed: bool = False) -> None:
        """Note that the store has the decisions about these items, or that they `failed`."""
        decided = set(ids)
        self._deciding -= decided
        if failed:
            for item_id in decided:
                self.decided.pop(item_id, None)
