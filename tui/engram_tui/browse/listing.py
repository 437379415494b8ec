"""What Browse lists: the store's lore page by page, or what a search found, and keeping it as it is while lore change.

Answers of the store that are late, for another order, filter or search, are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.widgets import Static

from engram_tui.browse import queries, ways_in
from engram_tui.browse.facet_pane import FacetPane, Values, read_values
from engram_tui.browse.filter_input import FilterInput
from engram_tui.browse.filters import BrowseFacets
from engram_tui.browse.queries import WORTH
from engram_tui.browse.wording import counts, no_match, nothing_fits
from engram_tui.shell.frame import ROOMY
from engram_tui.shell.sanitize import words
from engram_tui.widgets.entry_list import LoreList
from engram_tui.widgets.preview import Preview
from engram_tui.widgets.rows import BEST, SORT_NAMES, Row, ids_of, sorted_rows, with_rows

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram_tui.browse.facets import Facets

FIRST_PAGE = 500


class BrowseListing(BrowseFacets):
    """A screen with a list of lore that can be searched, and the chosen lore beside it."""

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.listed: Sequence[Row] = ()
        self.total = self.matching = 0
        self.order = "created"
        self.page_of: tuple[str, Facets] | None = None  # order and filters of what `listed` holds
        self.matches: queries.Matches | None = None
        self.match_order = BEST
        self.values: Values = {}  # what there is to filter by

    @property
    def lore_list(self) -> LoreList:
        """The list of lore."""
        return self.query_one(LoreList)

    @property
    def preview(self) -> Preview:
        """The chosen lore."""
        return self.query_one(Preview)

    @property
    def search_line(self) -> FilterInput:
        """The search line."""
        return self.query_one(FilterInput)

    @property
    def wanted(self) -> str:
        """What is searched for; empty: the whole list is shown."""
        return self.search_line.value.strip()

    # What is known of it

    def is_reading(self) -> bool:
        """Whether the lore has the focus."""
        return self.has_class("-reading")

    def is_listing(self) -> bool:
        """Whether the list has the focus."""
        return not self.is_reading()

    def has_nothing(self) -> bool:
        """Whether there is no lore at all, as far as is known."""
        return self.page_of is not None and not self.total and not self.wanted

    def is_filtered(self) -> bool:
        """Whether a filter is on."""
        return any(self.facets)

    # Questions to the store

    def read_list(self) -> None:
        """The list: a first page soon, then all of it."""
        order, facets, now = self.order, self.facets, self.now()
        first = self.page_of != (order, facets)
        question = partial(self._page, order, facets, now, FIRST_PAGE if first else None)
        self.ask("list", question, self._take_list)

    @staticmethod
    def _page(order: str, facets: Facets, now: float, limit: int | None, store: Engram) -> queries.Page:
        return queries.read_page(store, order, facets, now, limit)

    def _take_list(self, page: queries.Page) -> None:
        if (page.order, page.facets) != (self.order, self.facets):
            return
        top = self.page_of != (page.order, page.facets)
        self.listed, self.page_of = page.rows, (page.order, page.facets)
        self.total, self.matching = page.total, page.matching
        self.trouble("")
        if self.wanted:
            self._show_counts()
        else:
            self._show(self.listed, top=top)
        if page.complete:
            self.shell.listed(self)
            self.read_values()
        else:
            self.read_list()

    def read_values(self) -> None:
        """What one may filter by, where there is room to show it."""
        if self.app.size.width >= ROOMY:
            self.ask("values", read_values, self._take_values)

    def _take_values(self, values: Values) -> None:
        self.values = values
        self._show_facets()

    def _search(self) -> None:
        if self.wanted:
            text, facets, now = self.wanted, self.facets, self.now()
            self.ask(
                "search", lambda store: queries.read_matches(store, text, facets, now), self.take_matches
            )

    def take_matches(self, matches: queries.Matches) -> None:
        """A search was answered: show it if it is still what is asked."""
        if (matches.text, matches.facets) != (self.wanted, self.facets):
            return
        new = self.matches is None or (self.matches.text, self.matches.facets) != (
            matches.text,
            matches.facets,
        )
        self.matches = matches
        self.trouble("; ".join(matches.notes))
        self._show(sorted_rows(matches.rows, self.match_order), top=new)

    def _ask_lore(self) -> None:
        row = self.lore_list.current
        if row is None:
            self.preview.say()
        elif not self.is_narrow or self.is_reading():
            self.ask(
                "lore",
                lambda store: store.get(row.id),
                partial(self.take_lore, row.id),
                failed=partial(self._no_lore, row),
            )

    def take_lore(self, lore_id: str, shown: Shown) -> None:
        """The lore under the cursor was read."""
        row = self.lore_list.current
        if row is not None and row.id == lore_id:
            self.preview.show(shown, self.now(), row.why)

    def _no_lore(self, row: Row, line: str) -> None:
        if self.lore_list.current == row:
            self.preview.say(row.title, line)

    def store_changed(self) -> None:
        """Somebody else changed the store."""
        self.read_list()
        self._search()
        self._ask_lore()

    def lore_changed(self, ids: Sequence[str]) -> None:
        """Show in place what a deed did; the order stays as it is."""
        self.ask("rows", lambda store: queries.read_rows(store, ids), self._take_rows, exclusive=False)

    def _take_rows(self, changed: dict[str, Row | None]) -> None:
        gone = [lore_id for lore_id, row in changed.items() if row is None]
        self.total, self.matching = self.total - len(gone), self.matching - len(gone)
        self.lore_list.mark(gone, on=False)
        ids = ids_of(self.lore_list.rows)
        refs = {lore_id: self.lore_list.rows[ids.index(lore_id)] for lore_id in changed if lore_id in ids}
        kept = {
            lore_id: row and row._replace(ref=refs[lore_id].ref, why=refs[lore_id].why)
            if lore_id in refs
            else row
            for lore_id, row in changed.items()
        }
        self.listed = with_rows(self.listed, kept)
        if self.matches is not None:
            self.matches = self.matches._replace(rows=list(with_rows(self.matches.rows, kept)))
        self._show(with_rows(self.lore_list.rows, kept))
        self._ask_lore()

    # Showing

    def _show(self, rows: Sequence[Row], *, top: bool = False) -> None:
        """Show rows, the cursor on the lore where it was, or at the top."""
        current = self.lore_list.current
        self.lore_list.now = self.now()
        self.lore_list.shows_worth = (self.order if self.matches is None else self.match_order) == WORTH
        if self.matches is not None:
            self.lore_list.say(*no_match(self.matches.text))
        elif self.page_of is not None:
            self.lore_list.say(
                *(nothing_fits(self.facets.written) if self.is_filtered() else ways_in.empty_store())
            )
        self.lore_list.show(rows, keep="" if top or current is None else current.id)
        self._show_counts()
        self.refresh_bindings()

    def _show_counts(self) -> None:
        found = counts(self.matches, self.matching, self.total, self.is_narrow)
        marked = len(self.lore_list.marked)
        self.query_one("#counts", Static).update(f"{f'{marked} marked · ' if marked else ''}{found}")
        self._show_facets()

    def marks_changed(self) -> None:
        """Say how many are marked."""
        self._show_counts()

    def _show_facets(self) -> None:
        order = self.order if self.matches is None else self.match_order
        line = f"{self.facets.written or 'all lore'} · {SORT_NAMES[order]}   (f filters, s sorts)"
        self.query_one("#facets", Static).update(words(line))
        self.query_one(FacetPane).show(self.values, self.facets)
