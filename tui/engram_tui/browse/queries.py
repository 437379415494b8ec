"""What the screens ask of a store, as values ready to draw. Called from worker threads, never from the screen's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from engram.adapters.index.damage import DamagedIndexError, damage_noticed
from engram.domain.errors import NotFoundError
from engram.domain.review import review
from engram.usecases.index.refresh import refresh
from engram.usecases.lookup.listing import list_packed
from engram.usecases.opening.scopes import reach
from engram.usecases.recall.usage import usage_of
from engram_tui.browse.facets import Facets
from engram_tui.shell.frame import Heading
from engram_tui.widgets.lazy_rows import COLUMNS, LazyRows
from engram_tui.widgets.rows import Row, row_of_recalled, row_of_shown

if TYPE_CHECKING:
    from engram.adapters.index.generation import Generation
    from engram.app import Engram

MOST_MATCHES = 50
WORTH = "worth"  # the order that only the live record knows
_shown: WeakKeyDictionary[Engram, tuple[int, dict[str, int]]] = WeakKeyDictionary()
_sums: WeakKeyDictionary[Engram, tuple[tuple[object, ...], int]] = WeakKeyDictionary()
QUICK = (
    review.PROBLEM,
    review.CONFLICT,
    review.ENTITY,
    review.FOREIGN,
    review.PENDING,
)  # the kinds that the index tells at once


class Page(NamedTuple):
    """A list, or its beginning: `matching` lore fulfil its filters, of `total` in the store."""

    rows: Sequence[Row]
    matching: int
    total: int
    order: str
    facets: Facets
    complete: bool


class Matches(NamedTuple):
    """What a search found, best first, and which `text` and filters it answers; `notes` say what was degraded."""

    text: str
    rows: list[Row]
    strength: str
    strategy: str
    took_ms: float
    notes: tuple[str, ...]
    facets: Facets = Facets()


def read_page(store: Engram, order: str, facets: Facets, now: float, limit: int | None) -> Page:
    """The first `limit` lore in this order (None: all). Raises StoreError, NotFoundError (no such scope).

    Of a first page that is not all, without filters, the numbers may count files that share an id twice.
    """
    where = reach(store.store, facets.scope)
    ids, packed, matching = list_packed(
        where,
        COLUMNS,
        limit=None if order == WORTH else limit,
        sort="created" if order == WORTH else order,
        categories=(facets.category,) if facets.category else (),
        status=facets.status,
        tags=(facets.tag,) if facets.tag else (),
        where=facets.conditions(now),
    )
    generation = where.index.generation
    filtered = any(facets._replace(scope=""))
    total = generation.catalog.count() if generation and filtered else matching
    first = limit is not None and order != WORTH and len(ids) >= limit
    shown = {} if first else times_shown(store)  # of a long list, not before there is something to see
    rows = LazyRows(ids, packed, _refs(store), where.places.scope, shown)
    return Page(
        rows.by_worth() if order == WORTH else rows, matching, total, order, facets, complete=not first
    )


def read_matches(store: Engram, text: str, facets: Facets, now: float) -> Matches:
    """The lore that answer `text`; leaves no trace in the session or the log. Raises ValidationError, StoreError."""
    answer = store.query(
        text,
        k=MOST_MATCHES,
        min_confidence=0,
        keep=False,
        categories=facets.category or (),
        types=facets.type or (),
        tags=facets.tag or (),
        scopes=facets.scope or (),
    )
    refs = _refs(store)
    shown = times_shown(store)
    rows = [row_of_recalled(recalled, refs, shown) for recalled in answer.lore]
    fitting = [row for row in rows if facets.lets_through(row, now)]
    return Matches(text, fitting, answer.strength, answer.strategy, answer.took_ms, answer.notes, facets)


def read_rows(store: Engram, ids: Sequence[str]) -> dict[str, Row | None]:
    """These lore as they are now; None for one that is gone."""
    found: dict[str, Row | None] = {}
    shown = times_shown(store)
    for lore_id in ids:
        try:
            found[lore_id] = row_of_shown(store.get(lore_id), times=shown.get(lore_id, 0))
        except NotFoundError:
            found[lore_id] = None
    return found


def times_shown(store: Engram) -> dict[str, int]:
    """In how many answers each lore was, by id; looked at again where there are new answers."""
    newest = store.live(limit=1)
    number = newest[-1].number if newest else 0
    known = _shown.get(store)
    if known is None or known[0] != number:
        known = _shown[store] = number, usage_of(store.store).shown
    return known[1]


def read_heading(store: Engram) -> Heading:
    """Where the store is and how it is doing, as far as that is found quickly."""
    status = store.status(thorough=False)
    git, index, held = status["git"], status["index"], store.review(kinds=QUICK).total
    assert isinstance(git, dict)
    assert isinstance(index, dict)
    trouble = "" if index["ok"] else str(index["message"])
    total = status["lore_count"]
    assert isinstance(total, int)
    strategy = str(index.get("strategy", ""))
    return Heading(
        short_path(store.path),
        git["branch"] or "",
        git["ahead"],
        git["behind"],
        total,
        strategy,
        held,
        trouble,
    )


def token(store: Engram) -> tuple[object, ...]:
    """What is another value after each change of what the index knows of files, whoever made it, or once it has vectors.

    That a sweep looked at all files is written into the index, too, and is no change.
    """
    generation = store.store.index.generation
    if generation is None:
        return ()
    stats = _stats(generation)
    if _sums.get(store, ((), 0))[0] != stats:
        try:
            with damage_noticed():
                _sums[store] = stats, generation.catalog.sum_of_lines()
        except DamagedIndexError:
            return stats  # whoever asks it for lore next has it made anew
    return generation.folder, _sums[store][1], bool(generation.waiting)


def _stats(generation: Generation) -> tuple[object, ...]:
    """The times and sizes of the catalog's files: as long as they are the same, so is all that is in it."""
    found: list[object] = [generation.folder]
    for name in ("catalog.db", "catalog.db-wal"):
        try:
            stat = os.stat(os.path.join(generation.folder, name))
            found += [stat.st_mtime_ns, stat.st_size]
        except OSError:
            found.append(None)
    return tuple(found)


def look(store: Engram) -> tuple[object, ...]:
    """Look for changes of others, as cheaply as a query does, and say whether there were any."""
    if not store.store.asked_ns:
        store.store.asked_ns = 1  # from the second question on the system tells of changes
    refresh(store.store, thorough=False)
    return token(store)


def short_path(path: str) -> str:
    """A path as people write it: their home is `~`."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path


def _refs(store: Engram) -> dict[str, str]:
    return {lore_id: ref for ref, lore_id in store.session_refs().items()}
