"""The review queue: everything that needs a person's decision, detected on each call, without items that were set aside."""

from __future__ import annotations

from functools import partial

from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.review.review import FOREIGN, KINDS, STALE, WEAK, Item, check_kinds
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.filter import Filter
from engram.usecases.lookup.listing import list_hits
from engram.usecases.review.detectors import DETECTORS, find_aged, find_quarantined, find_weak
from engram.usecases.review.items import Items, PackedItem
from engram.usecases.review.waiting import QUICK_KINDS, note_counts, noted_counts
from engram.usecases.store.people import authors_of
from engram.usecases.store.quarantine import quarantined_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.review.detectors import Detector
    from engram.usecases.store.store import Store

_MOST_DAYS = 1_000_000


class Queue(NamedTuple):
    """Items by worth times certainty; `total` and `by_kind` also count items beyond the limit."""

    items: Items
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
    code: bool = True,
    first: int | None = None,
) -> Queue:
    """List the items of these kinds, recorded by these agents, about matching entries (default: all).

    Without `code`, entries are not compared with the code that they are about, which takes longest. With `first`, only
    about that many stale entries are listed, those worth most: as many as a screen shows.

    Raises UsageError for an invalid kind, category, age or confidence, StoreError.
    """
    check_kinds(kinds)
    found = _find_items(store, kinds or KINDS, code=code and first is None, first=first)
    if first is None and (code or STALE not in kinds):
        note_counts(store, {kind: found.by_kind.get(kind, 0) for kind in kinds or KINDS})
    if agents:
        found = Items([item for item in found if item.agent in agents])
    if wanted is not None and wanted.narrows:
        matching = _find_matching_ids(store, wanted)
        found = found.of(lambda item: bool(item.lore) and matching.issuperset(item.lore))
    return Queue(found[:limit] if limit is not None else found, len(found), found.by_kind)


def count_waiting_items(store: Store) -> dict[str, int]:
    """Return the number of items of each kind: counted for the quick kinds, as last noted for others.

    The app, `engram status` and `engram review` all show this number. Raises StoreError.
    """
    noted = {kind: number for kind, number in noted_counts(store).items() if kind not in QUICK_KINDS}
    found = {**noted, **review(store, kinds=QUICK_KINDS).by_kind}
    return {kind: found[kind] for kind in KINDS if found.get(kind)}


def _find_matching_ids(store: Store, wanted: EntryFilter) -> set[str]:
    """Return the ids of matching entries. Raises UsageError."""
    if not 0 <= wanted.min_confidence <= wanted.max_confidence <= 1:
        raise UsageError("Confidences must be from 0 to 1, with the minimum not above the maximum.")
    if not 0 <= wanted.older_than < _MOST_DAYS:
        raise UsageError(f"The age must be a number of days, not {wanted.older_than:g}.")
    lowest, highest = round(wanted.min_confidence * 1000), round(wanted.max_confidence * 1000)
    conditions = Filter(min_confidence=lowest, max_confidence=highest)
    if wanted.older_than:
        conditions = conditions._replace(until=store.clock.now().timestamp() - wanted.older_than * 86_400)
    hits, _ = list_hits(store, limit=None, categories=wanted.categories, tags=wanted.tags, where=conditions)
    return {hit.id for hit in hits}


def find_item(store: Store, name: str) -> Item:
    """Find an item by id or prefix of an id. Raises NotFoundError, AmbiguousError."""
    prefix = name.strip().lower()
    matching = _find_items(store, KINDS).of(lambda item: bool(prefix) and item.id.startswith(prefix))
    if not matching:
        raise NotFoundError(f"No review item has the id '{name[:40]}'.", "`engram review` lists the items.")
    if len(matching) > 1:
        raise AmbiguousError(
            f"'{name}' is the prefix of {len(matching)} item ids.",
            "Give more characters of the id.",
            tuple((item.id, item.title) for item in matching),
        )
    found: Item = matching[0]
    return found


def _find_items(store: Store, kinds: Sequence[str], *, code: bool = True, first: int | None = None) -> Items:
    with store.lock:
        marks = store.state.set_aside(store.clock.now().timestamp())
        found = query_index(
            store, lambda generation: _detect(store, generation, kinds, code=code, first=first)
        )
    return Items(
        [item for item in found if item.id not in marks or marks[item.id] != _mark_of(item)]
    ).ordered()


def _with_authors(store: Store, found: Sequence[Item | PackedItem]) -> list[Item | PackedItem]:
    """Return the items with the author of the newest entry of each, as far as the history names one."""
    missing = [item.lore[-1] for item in found if item.lore and not item.author]
    if not missing:
        return list(found)
    names = authors_of(store, missing)
    return [
        item._replace(author=names[item.lore[-1]])
        if item.lore and not item.author and names[item.lore[-1]]
        else item
        for item in found
    ]


def _mark_of(item: Item | PackedItem) -> str:
    return (item.unpack() if isinstance(item, PackedItem) else item).mark


def _detect(
    store: Store, generation: Generation, kinds: Sequence[str], *, code: bool, first: int | None
) -> list[Item | PackedItem]:
    detectors: dict[str, Detector] = dict(DETECTORS)
    if not code:
        detectors |= {STALE: partial(find_aged, first=first), WEAK: partial(find_weak, first=first)}
    found = _with_authors(
        store, [item for kind in KINDS if kind in kinds for item in detectors[kind](store, generation)]
    )
    # One decision at a time: whether a quarantined entry is weak or junk is asked once it is accepted.
    has_quarantined = bool(quarantined_texts(store))
    waiting = {item.lore[0] for item in find_quarantined(store, generation)} if has_quarantined else set()
    return [item for item in found if item.kind == FOREIGN or not waiting.intersection(item.lore)]
