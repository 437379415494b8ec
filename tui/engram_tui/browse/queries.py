"""Read from the store, for the browse screen, rows that are ready to draw. Called from worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from engram.domain.errors import NotFoundError
from engram.usecases.lookup.listing import list_packed
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.recall.usage import usage_of
from engram.usecases.store.people import authors_of
from engram_tui.browse.facets import Facets
from engram_tui.widgets.rows import COLUMNS, LazyRows, Row, row_of_recalled, row_of_shown

if TYPE_CHECKING:
    from engram.app import Engram

MAX_MATCHES = 50
WORTH = "worth"  # the order that only the activity log knows
_shown: WeakKeyDictionary[Engram, tuple[int, dict[str, int]]] = WeakKeyDictionary()


class Page(NamedTuple):
    """A list, or its beginning: `matching` entries pass its filters, of `total` in the store."""

    rows: Sequence[Row]
    matching: int
    total: int
    order: str
    facets: Facets
    complete: bool


class Matches(NamedTuple):
    """The results of a search for `text` with these filters, best first; `notes` say what was degraded."""

    text: str
    rows: list[Row]
    strength: str
    strategy: str
    took_ms: float
    notes: tuple[str, ...]
    facets: Facets = Facets()


def read_page(store: Engram, order: str, facets: Facets, now: float, limit: int | None) -> Page:
    """Read the first `limit` entries in this order (None: all). Raises StoreError, NotFoundError (no such scope).

    If the page is incomplete and has no filters, its counts may include files with the same id twice.
    """
    scope = open_scope_of(store.store, facets.scope)
    ids, packed, matching = list_packed(
        scope,
        COLUMNS,
        limit=None if order == WORTH else limit,
        sort="created" if order == WORTH else order,
        categories=(facets.category,) if facets.category else (),
        status=facets.status,
        tags=(facets.tag,) if facets.tag else (),
        where=facets.conditions(now),
    )
    generation = scope.index.generation
    filtered = any(facets._replace(scope=""))
    total = generation.catalog.count() if generation and filtered else matching
    complete = limit is None or order == WORTH or len(ids) < limit
    shown = times_shown(store) if complete else {}  # the first page of a long list does not wait for it
    authors = partial(authors_of, scope)
    rows = LazyRows(ids, packed, _refs(store), scope.places.scope, authors, shown)
    return Page(rows.by_usefulness() if order == WORTH else rows, matching, total, order, facets, complete)


def read_matches(store: Engram, text: str, facets: Facets, now: float) -> Matches:
    """Search for `text`, without a trace in the session or the log. Raises ValidationError, StoreError."""
    answer = store.query(
        text,
        k=MAX_MATCHES,
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
    fitting = [row for row in rows if facets.matches(row, now)]
    return Matches(text, fitting, answer.strength, answer.strategy, answer.took_ms, answer.notes, facets)


def read_rows(store: Engram, ids: Sequence[str]) -> dict[str, Row | None]:
    """Read these entries as they are now; None for one that no longer exists."""
    found: dict[str, Row | None] = {}
    shown = times_shown(store)
    for entry_id in ids:
        try:
            found[entry_id] = row_of_shown(store.get(entry_id), times=shown.get(entry_id, 0))
        except NotFoundError:
            found[entry_id] = None
    return found


def times_shown(store: Engram) -> dict[str, int]:
    """Return the number of answers that each entry was in, by id; cached until there are new answers."""
    newest = store.live(limit=1)
    number = newest[-1].number if newest else 0
    cached = _shown.get(store)
    if cached is None or cached[0] != number:
        cached = _shown[store] = number, usage_of(store.store).shown
    return cached[1]


def _refs(store: Engram) -> dict[str, str]:
    return {entry_id: ref for ref, entry_id in store.session_refs().items()}
