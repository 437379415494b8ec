"""The browse screen: a list of all entries with search and filters, and the entry under the cursor beside it.

Wide terminals show list and entry side by side, very wide ones the filters, too; narrow ones show one of them. Late
answers, for another order, filter or search, are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from engram_tui.browse import messages, queries
from engram_tui.browse.actions import ACTIONS
from engram_tui.browse.facet_pane import FacetLines, FacetPane, Values, read_values
from engram_tui.browse.facets import NAMES, Facets, label, values_of
from engram_tui.browse.queries import WORTH
from engram_tui.entry_actions.screen import EntryActionsScreen
from engram_tui.shell.frame import ROOMY
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import CURSOR_DELAY, NARROWEST, EntryList
from engram_tui.widgets.filter_input import TYPING_DELAY, FilterInput
from engram_tui.widgets.format import count
from engram_tui.widgets.mark_screen import MarkScreen
from engram_tui.widgets.preview import UNDER_CURSOR, Preview
from engram_tui.widgets.rows import BEST, SORT_NAMES, Row, ids_of, replace_rows, sort_rows

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown

FIRST_PAGE = 500
HELD_DELAY = 0.15  # the `CURSOR_DELAY` while a key is held down, as the keyboard's next repeat may be late


class BrowseScreen(MarkScreen, EntryActionsScreen):
    """Browse, search, read and judge entries."""

    SCREEN = "browse"
    AUTO_FOCUS = "EntryList"
    DEFAULT_CSS = """
    BrowseScreen {
        & #panes { height: 1fr; }
        & #left { width: 3fr; }
        & #search { height: 1; padding: 0 1; background: $surface; }
        & #slash { width: 2; color: $text-accent; }
        & #counts { width: auto; padding-left: 1; color: $text-muted; }
        & #facets { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & #columns { height: 1; color: $text-muted; text-wrap: nowrap; }
        & EntryList { height: 1fr; }
        & Preview { width: 2fr; border-left: solid $primary 40%; }
        & Preview:focus { border-left: solid $primary; }
        &.-roomy FacetPane { display: block; }
        &.-roomy #left { width: 5fr; }
        &.-narrow Preview { display: none; }
        &.-narrow.-reading Preview { display: block; width: 1fr; border-left: none; }
        &.-narrow.-reading #left { display: none; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.facets = Facets()
        self.order = "created"
        self.listed: Sequence[Row] = ()
        self.total = self.matching = 0
        self.page_of: tuple[str, Facets] | None = None  # order and filters of `listed`
        self.matches: queries.Matches | None = None  # of the search, if there is one
        self.match_order = BEST
        self.values: Values = {}  # to filter by
        self._moved_at = 0.0  # when the cursor moved last
        self._complete = False  # whether `listed` is the whole list

    def compose_body(self) -> Iterator[Widget]:
        """Yield the filters; the search line above the list; the entry."""
        with Horizontal(id="panes"):
            yield FacetPane(id="values")
            with Vertical(id="left"):
                with Horizontal(id="search"):
                    yield Static("/", id="slash", markup=False)
                    yield FilterInput(leave=self.leave_filter, move=self.action_move_cursor, id="filter")
                    yield Static("opening …", id="counts", markup=False)
                yield Static(id="columns", markup=False)
                yield EntryList(id="list")
                yield Static(id="facets", markup=False)
            yield Preview(id="preview")

    def on_mount(self) -> None:
        """Restore the order and the filters of the last run."""
        saved = self.shell.saved
        self.order = saved.get("browse.sort", "created")
        self.order = self.order if self.order in SORT_NAMES and self.order != BEST else "created"
        self.facets = Facets.from_saved(saved.get("browse.filter"))
        self._show_facets()
        self.read_list()

    @property
    def preview(self) -> Preview:
        """The entry under the cursor."""
        return self.query_one(Preview)

    @property
    def search_line(self) -> FilterInput:
        """The search line."""
        return self.query_one(FilterInput)

    @property
    def search_text(self) -> str:
        """The text of the search; "": the whole list is shown."""
        return self.search_line.value.strip()

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.entry_list.current

    # Conditions of the actions

    def store_is_empty(self) -> bool:
        """Return whether the store has no entry at all, as far as it was read."""
        return self.page_of is not None and not self.total and not self.search_text

    def is_filtered(self) -> bool:
        """Return whether a filter is on."""
        return any(self.facets)

    def can_read(self) -> bool:
        """Return whether there is a row to read or mark."""
        return self.is_listing() and self.row is not None

    def can_open(self) -> bool:
        """Return whether there is an entry to open, or an empty store to fill."""
        return self.row is not None or self.store_is_empty()

    def can_clear(self) -> bool:
        """Return whether esc has something to clear."""
        return self.is_listing() and bool(self.entry_list.marked or self.search_text or self.is_filtered())

    # Reading the list

    def read_list(self) -> None:
        """Read the list: a first page soon, then all of it."""
        first = self.page_of != (self.order, self.facets)
        order, facets, now = self.order, self.facets, self.now()
        limit = FIRST_PAGE if first else None
        self.ask(
            "list", lambda store: queries.read_page(store, order, facets, now, limit), self._receive_page
        )

    def _receive_page(self, page: queries.Page) -> None:
        if (page.order, page.facets) != (self.order, self.facets):
            return
        top = self.page_of != (page.order, page.facets)
        if not top and page.complete and self._complete:
            self.entry_list.arrived |= {*ids_of(page.rows)} - {*ids_of(self.listed)}
        self._complete = page.complete
        self.listed, self.page_of = page.rows, (page.order, page.facets)
        self.total, self.matching = page.total, page.matching
        self.show_error("")
        if self.search_text:
            self._show_counts()
        else:
            self._show_rows(self.listed, top=top)
        if page.complete:
            self.shell.note_shown(self)
            self.read_facet_values()
        else:
            self.read_list()

    def read_facet_values(self) -> None:
        """Read the values to filter by, if there is room to show them."""
        if self.app.size.width >= ROOMY:
            self.ask("values", read_values, self._receive_values)

    def _receive_values(self, values: Values) -> None:
        self.values = values
        self._show_facets()

    def store_changed(self) -> None:
        """Read everything again: somebody else, or undo, changed the store."""
        self.read_list()
        self._search()
        self._load_entry()

    def entries_changed(self, ids: Sequence[str]) -> None:
        """Update these entries after a command, without reordering the list."""
        self.ask("rows", lambda store: queries.read_rows(store, ids), self._receive_rows, exclusive=False)

    def _receive_rows(self, changed: dict[str, Row | None]) -> None:
        removed = [entry_id for entry_id, row in changed.items() if row is None]
        self.total, self.matching = self.total - len(removed), self.matching - len(removed)
        self.entry_list.mark(removed, on=False)
        ids = ids_of(self.entry_list.rows)
        before = {
            entry_id: self.entry_list.rows[ids.index(entry_id)] for entry_id in changed if entry_id in ids
        }
        after = {
            entry_id: row and row._replace(ref=before[entry_id].ref, why=before[entry_id].why)
            if entry_id in before
            else row
            for entry_id, row in changed.items()
        }
        self.listed = replace_rows(self.listed, after)
        if self.matches is not None:
            self.matches = self.matches._replace(rows=list(replace_rows(self.matches.rows, after)))
        self._show_rows(replace_rows(self.entry_list.rows, after))
        self._load_entry()

    # Searching

    @on(Input.Changed, "#filter")
    def typed(self) -> None:
        """Search once the user stops typing; an empty search shows the list at once."""
        if self.search_text:
            self.debounce("search", TYPING_DELAY, self._search)
        elif self.matches is not None:
            self.matches = None
            self.show_error("")
            self._show_rows(self.listed)

    def search_for(self, text: str) -> None:
        """Search for a text."""
        self.search_line.value = text

    def _search(self) -> None:
        if self.search_text:
            text, facets, now = self.search_text, self.facets, self.now()
            self.ask(
                "search", lambda store: queries.read_matches(store, text, facets, now), self.take_matches
            )

    def take_matches(self, matches: queries.Matches) -> None:
        """Show what a search found, unless there is a newer search or filter."""
        query = matches.text, matches.facets
        if query != (self.search_text, self.facets):
            return
        is_new = self.matches is None or (self.matches.text, self.matches.facets) != query
        self.matches = matches
        self.show_error("; ".join(matches.notes))
        self._show_rows(sort_rows(matches.rows, self.match_order), top=is_new)

    def action_filter(self) -> None:
        """Go to the search line."""
        self.remove_class("-reading")
        self.set_focus(self.search_line)

    def leave_filter(self, cleared: bool) -> None:
        """Go back to the list, without the search if `cleared`."""
        if cleared:
            self.search_line.clear()
        self.set_focus(self.entry_list)

    # Showing

    def _show_rows(self, rows: Sequence[Row], *, top: bool = False) -> None:
        """Show rows, the cursor on the entry where it was, or at the top."""
        self.entry_list.now = self.now()
        self.entry_list.shows_usefulness = self._shown_order == WORTH
        if self.matches is not None:
            self.entry_list.set_placeholder(*messages.describe_no_match(self.matches.text))
        elif self.page_of is not None and self.is_filtered():
            self.entry_list.set_placeholder(*messages.describe_no_fit(self.facets.text))
        elif self.page_of is not None:
            self.entry_list.set_placeholder(*messages.describe_empty_store())
        self.entry_list.show(rows, keep="" if top else self.entry_list.current_id)
        self._show_counts()
        self.refresh_bindings()

    @property
    def _shown_order(self) -> str:
        return self.order if self.matches is None else self.match_order

    def _show_counts(self) -> None:
        found = messages.counts(self.matches, self.matching, self.total, self.is_narrow)
        marked, arrived = len(self.entry_list.marked), len(self.entry_list.arrived)
        parts = [f"{marked} marked"] if marked else []
        parts += [f"{count(arrived)} new (+)"] if arrived else []
        # On a small terminal the typed text needs the room.
        if not parts or self.app.size.width >= NARROWEST:
            parts.append(found)
        self.query_one("#counts", Static).update(" · ".join(parts))
        self._show_columns()
        self._show_facets()

    def _show_facets(self) -> None:
        hint = "   (f filters, s sorts)" if self.app.size.width >= NARROWEST else ""
        line = f"{self.facets.text or 'all entries'} · {SORT_NAMES[self._shown_order]}{hint}"
        self.query_one("#facets", Static).update(safe_line(line))
        self.query_one(FacetPane).show(self.values, self.facets)

    def _show_columns(self) -> None:
        rows = self.entry_list
        self.query_one("#columns", Static).update(rows.heading() if rows.rows else "")

    def on_resize(self) -> None:
        """Show the entry on a terminal that became wide."""
        self.call_after_refresh(self._show_columns)
        self.call_after_refresh(self._load_entry)
        self.call_after_refresh(self.read_facet_values)

    # Reading an entry

    @on(EntryList.Highlighted)
    def moved(self) -> None:
        """Show the entry under the cursor once the cursor rests; it no longer counts as new."""
        if self.row is not None and self.row.id in self.entry_list.arrived:
            self.entry_list.arrived.discard(self.row.id)
            self._show_counts()
        before, self._moved_at = self._moved_at, monotonic()
        held_down = self._moved_at - before < HELD_DELAY
        self.debounce("entry", HELD_DELAY if held_down else CURSOR_DELAY, self._load_entry)

    def _load_entry(self) -> None:
        row = self.row
        if row is None:
            self.preview.show_message("", UNDER_CURSOR)
        elif not self.is_narrow or self.is_reading():
            self.ask(
                "entry",
                lambda store: store.get(row.id),
                partial(self.take_entry, row.id),
                failed=partial(self._show_missing, row),
            )

    def take_entry(self, entry_id: str, shown: Shown) -> None:
        """Show an entry if it is still under the cursor."""
        row = self.row
        if row is not None and row.id == entry_id:
            self.preview.show(shown, self.now(), row.why)

    def _show_missing(self, row: Row, line: str) -> None:
        if self.row == row:
            self.preview.show_message(row.title, line)

    @on(EntryList.Opened)
    def action_open(self) -> None:
        """Open the whole entry, with its history and its links."""
        row = self.row
        if row is not None:
            self.shell.open_entry(row.id, ids_of(self.entry_list.rows))
        elif self.store_is_empty():
            self.pick("Fill the store: enter copies the command", messages.first_steps(), self.copy)

    def returned_from(self, entry_id: str) -> None:
        """Move the cursor to the entry that was open."""
        self.entry_list.show(self.entry_list.rows, keep=entry_id)

    def action_read(self) -> None:
        """Go into the text beside the list: on a narrow terminal it takes the list's place."""
        if self.row is not None:
            self.go_into(self.preview)
            self._load_entry()

    def show_marks(self) -> None:
        """Count the marked entries."""
        self._show_counts()

    def clear_filters(self) -> None:
        """Clear the search, else the filters."""
        if self.search_text:
            self.search_line.clear()
        else:
            self.filter_by(Facets())

    # Order and filters

    def action_sort(self) -> None:
        """Sort by the next order; a search has one more, best first."""
        orders = [name for name in SORT_NAMES if name != BEST or self.matches]
        if self.matches is None:
            self.order = _next_in_cycle(self.order, orders)
            self.shell.saved.set("browse.sort", self.order)
            self.read_list()
        else:
            self.match_order = _next_in_cycle(self.match_order, orders)
            self._show_rows(sort_rows(self.matches.rows, self.match_order), top=True)
        self._show_facets()

    def filter_by(self, facets: Facets) -> None:
        """Show only what passes these filters."""
        self.facets = facets
        self.shell.saved.set("browse.filter", facets.saved)
        self._show_facets()
        self.read_list()
        self._search()

    def action_no_facets(self) -> None:
        """Remove all filters."""
        self.filter_by(Facets())

    @on(FacetLines.Picked)
    def facet_clicked(self, event: FacetLines.Picked) -> None:
        """Filter by the value that was clicked, or stop filtering by it."""
        value = "" if getattr(self.facets, event.facet) == event.value else event.value
        self.filter_by(self.facets._replace(**{event.facet: value}))

    def action_facet(self) -> None:
        """Choose what to filter by, then the value."""
        from engram_tui.shell.picker import Choice

        choices = [
            Choice(name, name, after=value or "all") for name, value in zip(NAMES, self.facets, strict=True)
        ]
        self.pick("Filter by", choices, self._read_values, "scope, category, tag …")

    def _read_values(self, name: str) -> None:
        self.ask("facet", lambda store: values_of(store, name), partial(self._pick_value, name), opens=True)

    def _pick_value(self, name: str, values: list[tuple[str, str]]) -> None:
        from engram_tui.shell.picker import Choice

        choices = [
            Choice("", "all", after="no filter"),
            *(Choice(value, safe_line(label(name, value)), after=note) for value, note in values),
        ]
        self.pick(
            f"Filter by {name}",
            choices,
            lambda value: self.filter_by(self.facets._replace(**{name: value})),
            f"which {name} …",
        )


def _next_in_cycle(name: str, names: list[str]) -> str:
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
