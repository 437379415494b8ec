"""The review queue: everything that waits for a person, detected on each call, without items that were set aside."""

from __future__ import annotations

from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.review.review import FOREIGN, KINDS, Item, check_kinds
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import consult
from engram.usecases.lookup.filter import Filter
from engram.usecases.lookup.listing import list_hits
from engram.usecases.review.detectors import DETECTORS, find_quarantined
from engram.usecases.store.quarantine import quarantined_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

_OLDEST = 1_000_000  # days


class Queue(NamedTuple):
    """Items, most urgent kind first; `total` and `by_kind` also count those beyond the limit."""

    items: tuple[Item, ...]
    total: int
    by_kind: dict[str, int]


class EntryFilter(NamedTuple):
    """A filter on the entries of items: any of the categories, all of the tags, age in days, confidence from 0 to 1.

    Every entry of an item must match.
    """

    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    older_than: float = 0.0
    min_confidence: float = 0.0
    max_confidence: float = 1.0

    @property
    def narrows(self) -> bool:
        """Whether the filter excludes anything."""
        return bool(self.categories or self.tags) or self[2:] != EntryFilter()[2:]


def review(
    store: Store,
    *,
    kinds: Sequence[str] = (),
    agents: Sequence[str] = (),
    wanted: EntryFilter | None = None,
    limit: int | None = None,
) -> Queue:
    """List the items of these kinds, recorded by these agents, about matching entries (default: all).

    Raises UsageError for an invalid kind, category, age or confidence, StoreError.
    """
    check_kinds(kinds)
    found = [item for item in _found(store, kinds or KINDS) if not agents or item.agent in agents]
    if wanted is not None and wanted.narrows:
        matching = _matching(store, wanted)
        found = [item for item in found if item.lore and matching.issuperset(item.lore)]
    by_kind = {kind: sum(item.kind == kind for item in found) for kind in KINDS}
    return Queue(tuple(found[:limit]), len(found), {kind: count for kind, count in by_kind.items() if count})


def _matching(store: Store, wanted: EntryFilter) -> set[str]:
    """Return the ids of matching entries."""
    if not 0 <= wanted.min_confidence <= wanted.max_confidence <= 1:
        raise UsageError("Confidences must be from 0 to 1, with the minimum not above the maximum.")
    if not 0 <= wanted.older_than < _OLDEST:
        raise UsageError(f"The age must be a number of days, not {wanted.older_than:g}.")
    lowest, highest = round(wanted.min_confidence * 1000), round(wanted.max_confidence * 1000)
    conditions = Filter(min_confidence=lowest, max_confidence=highest)
    if wanted.older_than:
        conditions = conditions._replace(until=store.clock.now().timestamp() - wanted.older_than * 86_400)
    hits, _ = list_hits(store, limit=None, categories=wanted.categories, tags=wanted.tags, where=conditions)
    return {hit.id for hit in hits}


def find_item(store: Store, name: str) -> Item:
    """Find an item by id or prefix of an id. Raises NotFoundError, AmbiguousError."""
    wanted = name.strip().lower()
    matching = [item for item in _found(store, KINDS) if wanted and item.id.startswith(wanted)]
    if not matching:
        raise NotFoundError(f"No review item has the id '{name[:40]}'.", "`engram review` lists the items.")
    if len(matching) > 1:
        raise AmbiguousError(
            f"'{name}' is the prefix of {len(matching)} item ids.",
            "Give more characters of the id.",
            tuple((item.id, item.title) for item in matching),
        )
    return matching[0]


def _found(store: Store, kinds: Sequence[str]) -> list[Item]:
    with store.lock:
        aside = store.state.set_aside(store.clock.now().timestamp())
        items = consult(store, lambda generation: _detected(store, generation, kinds))
    return [item for item in items if aside.get(item.id) != item.mark]


def _detected(store: Store, generation: Generation, kinds: Sequence[str]) -> list[Item]:
    found = [item for kind in KINDS if kind in kinds for item in DETECTORS[kind](store, generation)]
    # One decision at a time: whether a quarantined entry is weak or junk is asked once it is accepted.
    quarantined = quarantined_texts(store)
    waiting = {item.lore[0] for item in find_quarantined(store, generation)} if quarantined else set()
    return [item for item in found if item.kind == FOREIGN or not waiting.intersection(item.lore)]
