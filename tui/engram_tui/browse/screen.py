"""The first screen: all lore as a list, a search over it, and the chosen lore beside it (or in its place).

Wide terminals show list and lore side by side, very wide ones the filters, too; narrow ones one of them. What is
listed is in `browse_listing`, what is done to lore in `browse_deeds`, how they are filtered in `browse_facets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from engram_tui.browse import ways_in
from engram_tui.browse.actions import ACTIONS
from engram_tui.browse.facet_pane import FacetLines, FacetPane
from engram_tui.browse.facets import Facets
from engram_tui.browse.filter_input import FilterInput
from engram_tui.browse.listing import BrowseListing
from engram_tui.shell.action import bindings
from engram_tui.widgets.entry_list import LoreList
from engram_tui.widgets.preview import Preview
from engram_tui.widgets.rows import BEST, SORT_NAMES, ids_of, sorted_rows

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from engram.app import Engram

TYPING_REST = 0.06  # seconds without a key before a search starts
CURSOR_REST = 0.05  # seconds on a row before its lore is shown
HELD_REST = 0.15  # the same while a key is held down: a keyboard's next repeat may be late


class BrowseScreen(BrowseListing):
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
        &.-roomy FacetPane { display: block; }
        &.-narrow Preview { display: none; }
        &.-narrow.-reading Preview { display: block; width: 1fr; border-left: none; }
        &.-narrow.-reading #left { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self._typing: Timer | None = None
        self._resting: Timer | None = None
        self._moved = 0.0

    def compose_body(self) -> Iterator[Widget]:
        """Search line, list and filters; beside them the lore."""
        with Horizontal(id="panes"):
            yield FacetPane(id="values")
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

    # What actions ask

    def has_lore(self) -> bool:
        """Whether there is a lore to do something to."""
        return bool(self.chosen())

    def can_read(self) -> bool:
        """Whether there is a line to open or mark."""
        return self.is_listing() and self.lore_list.current is not None

    def can_open(self) -> bool:
        """Whether there is a lore to open, or an empty store to begin."""
        return self.lore_list.current is not None or self.has_nothing()

    def can_clear(self) -> bool:
        """Whether esc has something to let go of."""
        return self.is_listing() and bool(self.lore_list.marked or self.wanted or self.is_filtered())

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

    @on(FacetLines.Picked)
    def facet_clicked(self, event: FacetLines.Picked) -> None:
        """Filter by the value that was clicked, or not any more."""
        value = "" if getattr(self.facets, event.facet) == event.value else event.value
        self.narrow_to(self.facets._replace(**{event.facet: value}))

    @on(LoreList.Highlighted)
    def moved(self) -> None:
        """Show the lore under the cursor once the cursor rests."""
        if self._resting:
            self._resting.stop()
        moved, self._moved = self._moved, monotonic()
        held = self._moved - moved < HELD_REST
        self._resting = self.set_timer(HELD_REST if held else CURSOR_REST, self._ask_lore)

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
        self.call_after_refresh(self.read_values)


def _after(name: str, names: list[str], by: int) -> str:
    return names[(names.index(name) + by) % len(names)] if name in names else names[0]
