"""The queue of the Inbox: its items in order, which of them a filter lists, and what was decided in this run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from engram.domain.review.review import CONFLICT, ENTITY, KINDS, Item
from engram.usecases.review.items import Items, PackedItem

if TYPE_CHECKING:
    Listed = Item | PackedItem

CALLED = {CONFLICT: "dispute", ENTITY: "disputed entity"}  # what people say for a kind
BY_SCORE, NEWEST, OLDEST, BY_KIND = ORDERS = ("worth × certainty", "newest first", "oldest first", "by kind")


class Wanted(NamedTuple):
    """What the list is filtered by: words that all have to be in an item, a kind, who recorded it; "" is any."""

    text: str = ""
    kind: str = ""
    who: str = ""

    @property
    def narrows(self) -> bool:
        """Whether anything is left out."""
        return any(self)

    def test(self) -> Callable[[Listed], bool]:
        """Return a test of one item."""
        words = self.text.casefold().split()
        raw = [word.encode() for word in words]

        def fits(one: Listed) -> bool:
            if self.kind and one.kind != self.kind:
                return False
            if isinstance(one, PackedItem):
                if self.who and one.unpack().who != self.who:
                    return False
                if not words:
                    return True
                # It has title, path and agent as they are: nothing need be made.
                line = one.packed.lower() + one.author.casefold().encode()
                return all(word in line or text in one.kind for word, text in zip(raw, words, strict=True))
            if self.who and one.who != self.who:
                return False
            named = (one.kind, called(one.kind), *one.titles, one.title, one.who, one.why, one.proposed)
            line_ = " ".join(named).casefold()
            return all(word in line_ for word in words)

        return fits


def called(kind: str) -> str:
    """Return what people say for a kind."""
    return CALLED.get(kind, kind)


def group_items(found: Items) -> dict[str, list[Listed]]:
    """Group items by kind. Of 100,000 this takes long: it is for the thread that reads them."""
    groups: dict[str, list[Listed]] = {}
    for one in found.found:
        groups.setdefault(one.kind, []).append(one)
    return groups


def sort_items(found: Iterable[Listed], order: str) -> list[Listed]:
    """Sort items."""
    if order == BY_KIND:
        rank = {kind: at for at, kind in enumerate(KINDS)}
        return sorted(sort_items(found, BY_SCORE), key=lambda one: rank[one.kind])
    if order in (NEWEST, OLDEST):
        return sorted(found, key=attrgetter("at"), reverse=order == NEWEST)
    return sorted(found, key=attrgetter("score"), reverse=True)


class InboxQueue:
    """Every item by worth, those that are listed, and those decided."""

    def __init__(self) -> None:
        self.every: list[Listed] = []
        self._of: dict[str, list[Listed]] = {}  # the same by kind
        self.listed: list[Listed] = []
        self.wanted = Wanted()
        self.order = BY_SCORE
        self.decided: dict[str, None] = {}  # ids, in the order of their decisions
        self._deciding: set[str] = set()  # a decision is on its way to the store
        self._ever: set[str] = set()  # decided in this run, also if undone since

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of items of each kind, in the order of urgency."""
        return {kind: len(self._of[kind]) for kind in KINDS if self._of.get(kind)}

    @property
    def share(self) -> float:
        """The share of items that is decided: 0 to 1."""
        total = len(self.decided) + len(self.every)
        return len(self.decided) / total if total else 1.0

    def list(self) -> None:
        """List what the filter wants, in order."""
        fits = self.wanted.test()
        found = [one for one in self.every if fits(one)] if self.wanted.narrows else self.every
        self.listed = list(found) if self.order == BY_SCORE else sort_items(found, self.order)

    def update(self, kinds: Collection[str], found: Mapping[str, Sequence[Listed]]) -> str:
        """Replace the items of these kinds by what the store has now, by kind.

        Returns the id of an item that was decided and is there again, as the decision was undone ("": none).
        """
        fresh = {kind: [*found.get(kind, ())] for kind in kinds}
        if self._deciding:
            fresh = {kind: [one for one in of if one.id not in self._deciding] for kind, of in fresh.items()}
        before = {kind: self._of.get(kind, []) for kind in kinds}
        if fresh == before:
            return ""
        back = ""
        if self._ever:
            there = {one.id: None for one in chain(*fresh.values())}
            known = {one.id: None for one in chain(*before.values())}
            returned = [one for one in there if one in self._ever and one not in known]
            self.decided = {one: None for one in self.decided if one not in there}
            self.decided |= {one: None for one in known if one in self._ever and one not in there}
            back = returned[-1] if returned else ""
        self._of |= fresh
        # Of equal worth the more urgent kind comes first, however often they are read.
        self.every = sort_items(chain(*[self._of.get(kind, ()) for kind in KINDS]), BY_SCORE)
        self.list()
        return back

    def decide(self, ids: Collection[str]) -> None:
        """Remove items that are being decided."""
        self._deciding |= {*ids}
        self._ever |= {*ids}
        self.decided.update(dict.fromkeys(ids))
        gone = {*ids}
        self._of = {kind: [one for one in of if one.id not in gone] for kind, of in self._of.items()}
        self.every = [one for one in self.every if one.id not in gone]
        self.listed = [one for one in self.listed if one.id not in gone]

    def finish(self, ids: Iterable[str], *, failed: bool = False) -> None:
        """Note that the store has their decision, or that it `failed`."""
        gone = set(ids)
        self._deciding -= gone
        if failed:
            for one in gone:
                self.decided.pop(one, None)
