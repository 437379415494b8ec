"""The review queue: everything that waits for a person, found anew each time, without what was set aside."""

from __future__ import annotations

from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.review.review import FOREIGN, KINDS, Item, check_kinds
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import consult
from engram.usecases.lookup.listing import Narrow, list_hits
from engram.usecases.review.detectors import DETECTORS, foreign
from engram.usecases.store.quarantine import quarantined_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.generation import Generation
    from engram.usecases.store.store import Store

_OLDEST = 1_000_000  # days


class Queue(NamedTuple):
    """Items, the most urgent kind first; `total` also counts those beyond the limit, `by_kind` all of these kinds."""

    items: tuple[Item, ...]
    total: int
    by_kind: dict[str, int]


class Wanted(NamedTuple):
    """Which lore an item has to be about: of these categories, with all these tags, older than so many days, within
    these confidences (0 to 1). Of an item about several each has to be such a lore.
    """

    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    older_than: float = 0.0
    min_confidence: float = 0.0
    max_confidence: float = 1.0

    @property
    def narrows(self) -> bool:
        """Whether there is lore that is not so."""
        return bool(self.categories or self.tags) or self[2:] != Wanted()[2:]


def review(
    store: Store,
    *,
    kinds: Sequence[str] = (),
    agents: Sequence[str] = (),
    wanted: Wanted | None = None,
    limit: int | None = None,
) -> Queue:
    """What waits for a person, of these kinds, recorded by these agents and about such lore (default: all).

    Raises UsageError for a kind, category, age or confidence that there is not, StoreError.
    """
    check_kinds(kinds)
    found = [item for item in _found(store, kinds or KINDS) if not agents or item.agent in agents]
    if wanted is not None and wanted.narrows:
        fitting = _fitting(store, wanted)
        found = [item for item in found if item.lore and fitting.issuperset(item.lore)]
    by_kind = {kind: sum(item.kind == kind for item in found) for kind in KINDS}
    return Queue(tuple(found[:limit]), len(found), {kind: count for kind, count in by_kind.items() if count})


def _fitting(store: Store, wanted: Wanted) -> set[str]:
    """The ids of such lore."""
    if not 0 <= wanted.min_confidence <= wanted.max_confidence <= 1:
        raise UsageError("A confidence is a number from 0 to 1, the lowest not above the highest.")
    if not 0 <= wanted.older_than < _OLDEST:
        raise UsageError(f"An age is a number of days from 0 on, but not {wanted.older_than:g}.")
    lowest, highest = round(wanted.min_confidence * 1000), round(wanted.max_confidence * 1000)
    narrow = Narrow(lowest=lowest, highest=highest)
    if wanted.older_than:
        narrow = narrow._replace(until=store.clock.now().timestamp() - wanted.older_than * 86_400)
    hits, _ = list_hits(store, limit=None, categories=wanted.categories, tags=wanted.tags, narrow=narrow)
    return {hit.id for hit in hits}


def item_named(store: Store, name: str) -> Item:
    """The item of that id or start of an id. Raises NotFoundError, AmbiguousError."""
    wanted = name.strip().lower()
    fitting = [item for item in _found(store, KINDS) if wanted and item.id.startswith(wanted)]
    if not fitting:
        raise NotFoundError(
            f"Nothing in the review queue has the id '{name[:40]}'.", "`engram review` lists what is there."
        )
    if len(fitting) > 1:
        raise AmbiguousError(
            f"'{name}' begins {len(fitting)} ids of the review queue.",
            "Give more of it.",
            tuple((item.id, item.title) for item in fitting),
        )
    return fitting[0]


def _found(store: Store, kinds: Sequence[str]) -> list[Item]:
    with store.lock:
        aside = store.state.set_aside(store.clock.now().timestamp())
        items = consult(store, lambda generation: _detected(store, generation, kinds))
    return [item for item in items if aside.get(item.id) != item.mark]


def _detected(store: Store, generation: Generation, kinds: Sequence[str]) -> list[Item]:
    found = [item for kind in KINDS if kind in kinds for item in DETECTORS[kind](store, generation)]
    # What waits until it is accepted is one decision, not three: whether it is weak or junk comes after.
    held = quarantined_texts(store)
    waiting = {item.lore[0] for item in foreign(store, generation)} if held else set()
    return [item for item in found if item.kind == FOREIGN or not waiting.intersection(item.lore)]
