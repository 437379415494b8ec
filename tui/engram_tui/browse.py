"""The first screen: all lore as a list, a search over it, and the chosen lore beside it (or in its place).

Wide terminals show list and lore side by side; narrow ones one of them. What is done to
lore is in `browse_deeds`, how they are filtered in `browse_facets`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from engram_tui import reading, ways_in
from engram_tui.actions.action import bindings
from engram_tui.actions.browse import ACTIONS
from engram_tui.browse_facets import BrowseFacets
from engram_tui.facets import Facets
from engram_tui.filter_input import FilterInput
from engram_tui.lore_list import LoreList
from engram_tui.preview import Preview
from engram_tui.rows import BEST, SORT_NAMES, Row, ids_of, sorted_rows, with_rows
from engram_tui.shell.gate import words
from engram_tui.wording import counts, no_match, nothing_fits

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.listing import Shown

TYPING_REST = 0.06  # seconds without a key before a search starts
CURSOR_REST = 0.05  # seconds on a row before its lore is shown
FIRST_PAGE = 500


class BrowseScreen(BrowseFacets):
    """Browse, search, read and judge lore."""

    SCREEN = "browse"
    AUTO_FOCUS = "LoreList"
    DEFAULT_CSS = """
    BrowseScreen {
        & #panes { height: 1fr; }
        & #left { width: 3fr; }
        & #search { height: 1; padding: 0 1; background: $surface; }
        & #slash { width: 2; color: $text-accent; }
        & #counts { width: auto; color: $text-muted; }
        & #facets { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & LoreList { height: 1fr; }
        & Preview { width: 2fr; border-left: solid $primary 40%; }
        & Preview:focus { border-left: solid $primary; }
        &.-narrow Preview { display: none; }
        &.-narrow.-reading Preview { display: block; width: 1fr; border-left: none; }
        &.-narrow.-reading #left { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.listed: Sequence[Row] = ()
        self.total = self.matching = 0
        self.order = "created"
        self.page_of: tuple[str, Facets] | None = None  # order and filters of what `listed` holds
        self.matches: reading.Matches | None = None
        self.match_order = BEST
        self._typing: Timer | None = None
        self._resting: Timer | None = None

    def compose_body(self) -> Iterator[Widget]:
        """Search line, list and filters; beside them the lore."""
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                with Horizontal(id="search"):
                    yield Static("/", id="slash", markup=False)
                    yield FilterInput(leave=self.leave_filter, move=self.move_cursor, id="filter")
                    yield Static("opening …", id="counts", markup=False)
                yield LoreList(id="list")
                yield Static(id="facets", markup=False)
            yield Preview(id="preview")

    def on_mount(self) -> None:
        """Go on where the last run ended."""
        remembered = self.shell.remembered
        self.order = remembered.get("browse.sort", "created")
        self.order = self.order if self.order in SORT_NAMES and self.order != BEST else "created"
        self.facets = Facets.from_kept(remembered.get("browse.filter"))
        self._show_facets()
        self.read_list()

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

    # What actions ask

    def has_lore(self) -> bool:
        """Whether there is a lore to do something to."""
        return bool(self.chosen())

    def is_reading(self) -> bool:
        """Whether the lore has the focus."""
        return self.has_class("-reading")

    def is_listing(self) -> bool:
        """Whether the list has the focus."""
        return not self.is_reading()

    def can_read(self) -> bool:
        """Whether there is a line to open or mark."""
        return self.is_listing() and self.lore_list.current is not None

    def can_open(self) -> bool:
        """Whether there is a lore to open, or an empty store to begin."""
        return self.lore_list.current is not None or self.has_nothing()

    def has_nothing(self) -> bool:
        """Whether there is no lore at all, as far as is known."""
        return self.page_of is not None and not self.total and not self.wanted

    def can_clear(self) -> bool:
        """Whether esc has something to let go of."""
        return self.is_listing() and bool(self.lore_list.marked or self.wanted or self.is_filtered())

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
    def _page(order: str, facets: Facets, now: float, limit: int | None, store: Engram) -> reading.Page:
        return reading.read_page(store, order, facets, now, limit)

    def _take_list(self, page: reading.Page) -> None:
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
        else:
            self.read_list()

    def _search(self) -> None:
        if self.wanted:
            text, facets, now = self.wanted, self.facets, self.now()
            self.ask(
                "search", lambda store: reading.read_matches(store, text, facets, now), self.take_matches
            )

    def take_matches(self, matches: reading.Matches) -> None:
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
        self.ask("rows", lambda store: reading.read_rows(store, ids), self._take_rows, exclusive=False)

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

    # What the user does

    @on(Input.Changed, "#filter")
    def typed(self) -> None:
        """Search once the keys rest; an empty search shows the list at once."""
        if self._typing:
            self._typing.stop()
        if self.wanted:
            self._typing = self.set_timer(TYPING_REST, self._search)
        elif self.matches is not None:
            self.matches = None
            self.trouble("")
            self._show(self.listed)

    @on(LoreList.Highlighted)
    def moved(self) -> None:
        """Show the lore under the cursor once the cursor rests."""
        if self._resting:
            self._resting.stop()
        self._resting = self.set_timer(CURSOR_REST, self._ask_lore)

    @on(LoreList.Opened)
    def action_open(self) -> None:
        """The whole lore, with its history and its links."""
        row = self.lore_list.current
        if row is not None:
            self.shell.open_lore(row.id, ids_of(self.lore_list.rows))
        elif self.has_nothing():
            self.app.push_screen(ways_in.picker(), lambda way: self._copy(way) if way else None)

    def came_back(self, lore_id: str) -> None:
        """The cursor follows where one went."""
        self.lore_list.show(self.lore_list.rows, keep=lore_id)

    def search_for(self, text: str) -> None:
        """Search for this."""
        self.search_line.value = text

    def action_read(self) -> None:
        """Into the text beside the list, to scroll it: on a narrow terminal it takes the list's place."""
        if self.lore_list.current is not None:
            self.add_class("-reading")
            self._ask_lore()
            self.set_focus(self.preview)
            self.refresh_bindings()

    def action_back(self) -> None:
        """From the lore to the list."""
        self.remove_class("-reading")
        self.set_focus(self.lore_list)
        self.refresh_bindings()

    def action_clear(self) -> None:
        """Marks go first, then the search, then the filters."""
        if self.lore_list.marked:
            self.lore_list.mark(list(self.lore_list.marked), on=False)
            self._show_counts()
        elif self.wanted:
            self.search_line.clear()
        else:
            self.narrow_to(Facets())

    def action_filter(self) -> None:
        """Go to the search line."""
        self.remove_class("-reading")
        self.set_focus(self.search_line)

    def leave_filter(self, cleared: bool) -> None:
        """Back to the list, with or without the search."""
        if cleared:
            self.search_line.clear()
        self.set_focus(self.lore_list)

    def move_cursor(self, rows: int) -> None:
        """Move in the list from wherever the focus is."""
        self.lore_list.action_move(rows)

    def action_next_lore(self) -> None:
        """The next lore."""
        self.move_cursor(1)

    def action_previous_lore(self) -> None:
        """The lore before."""
        self.move_cursor(-1)

    def action_sort(self) -> None:
        """The next order; a search has one more, its own."""
        self._sort(1)

    def action_sort_back(self) -> None:
        """The order before."""
        self._sort(-1)

    def _sort(self, by: int) -> None:
        orders = [name for name in SORT_NAMES if name != BEST or self.matches]
        if self.matches is None:
            self.order = _after(self.order, orders, by)
            self.shell.remembered.set("browse.sort", self.order)
            self.read_list()
        else:
            self.match_order = _after(self.match_order, orders, by)
            self._show(sorted_rows(self.matches.rows, self.match_order), top=True)
        self._show_facets()

    # Filters

    def narrow_to(self, facets: Facets) -> None:
        """Show only what these filters let through."""
        self.facets = facets
        self.shell.remembered.set("browse.filter", facets.kept)
        self._show_facets()
        self.read_list()
        self._search()

    # Showing

    def on_resize(self) -> None:
        """A terminal that became wide shows a lore it had not read."""
        self.call_after_refresh(self._ask_lore)

    def _show(self, rows: Sequence[Row], *, top: bool = False) -> None:
        """Show rows, the cursor on the lore where it was, or at the top."""
        current = self.lore_list.current
        self.lore_list.now = self.now()
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


def _after(name: str, names: list[str], by: int) -> str:
    return names[(names.index(name) + by) % len(names)] if name in names else names[0]
