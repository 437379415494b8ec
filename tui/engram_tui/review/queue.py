"""The queue of the review screen: its items in order, the current one, those put off and those decided."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engram.domain.review.review import KINDS, Item


class ReviewQueue:
    """Items by urgency; those put off come last. The current item stays current whatever else comes and goes."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.at = 0
        self.decided: dict[str, None] = {}  # ids, in the order of their decisions
        self._deciding: set[str] = set()  # a decision is on its way to the store
        self._ever: set[str] = set()  # decided in this run, also if undone since
        self._later: dict[str, None] = {}

    @property
    def current(self) -> Item | None:
        """The current item."""
        return self.items[self.at] if self.at < len(self.items) else None

    @property
    def upcoming(self) -> Item | None:
        """The item that follows a decision."""
        following = self.at + 1
        return self.items[following % len(self.items)] if len(self.items) > 1 else None

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of items of each kind, in the order of urgency."""
        found = dict.fromkeys(KINDS, 0)
        for item in self.items:
            found[item.kind] += 1
        return {kind: count for kind, count in found.items() if count}

    @property
    def share(self) -> float:
        """The share of items that is decided: 0 to 1."""
        total = len(self.decided) + len(self.items)
        return len(self.decided) / total if total else 1.0

    def update(self, kinds: Collection[str], items: Iterable[Item]) -> None:
        """Replace the items of these kinds by what the store has now.

        An item that was decided and is there again (the decision was undone) becomes the current one.
        """
        fresh = [item for item in items if item.id not in self._deciding]
        there, known = {item.id for item in fresh}, {item.id for item in self.items}
        back = [item.id for item in fresh if item.id in self._ever and item.id not in known]
        gone = [item.id for item in self.items if item.kind in kinds and item.id not in there]
        self.decided = {one: None for one in self.decided if one not in there}
        self.decided |= {one: None for one in gone if one in self._ever}
        kept = [item for item in self.items if item.kind not in kinds]
        self._show([*kept, *fresh], back[-1] if back else "")

    def decide(self, items: Collection[Item]) -> None:
        """Remove items that are being decided, and go on to the next."""
        ids = {item.id for item in items}
        here = self.current
        self._deciding |= ids
        self._ever |= ids
        self.decided.update(dict.fromkeys(ids))
        left = [*self.items[self.at :], *self.items[: self.at]]
        following = next((one for one in left if one.id not in ids), None)
        wanted = here if here and here.id not in ids else following
        self._show([item for item in self.items if item.id not in ids], wanted.id if wanted else "")

    def finish(self, ids: Iterable[str], *, failed: bool = False) -> None:
        """Note that the store has their decision, or that it `failed`."""
        gone = set(ids)
        self._deciding -= gone
        if failed:
            for one in gone:
                self.decided.pop(one, None)

    def put_off(self, item: Item) -> None:
        """Move an item to the end of the queue, for this run."""
        following = self.upcoming
        self._later.pop(item.id, None)
        self._later[item.id] = None
        self._show(self.items, following.id if following else "")

    def move(self, by: int) -> None:
        """Go to another item, from the last one to the first."""
        if self.items:
            self.at = (self.at + by) % len(self.items)

    def go_to_kind(self, kind: str) -> None:
        """Go to the first item of a kind."""
        self.at = next((at for at, item in enumerate(self.items) if item.kind == kind), self.at)

    def _show(self, items: Iterable[Item], wanted: str) -> None:
        """Sort the items; make `wanted` the current one, else keep it, else take the one in its place."""
        here = self.current
        later = list(self._later)
        order = {kind: at for at, kind in enumerate(KINDS)}
        self.items = sorted(
            items, key=lambda item: (later.index(item.id) if item.id in self._later else -1, order[item.kind])
        )
        ids = [item.id for item in self.items]
        kept = wanted or (here.id if here else "")
        self.at = ids.index(kept) if kept in ids else min(self.at, max(0, len(ids) - 1))
