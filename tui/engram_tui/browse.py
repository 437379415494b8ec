"""The first screen: all lore as a list, a search over it, and the chosen lore beside it (or in its place).

Wide terminals show list and lore side by side; narrow ones one of them. The screen decides what is
shown; `store_work` asks the store in threads and answers with messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal
from textual.widgets import Footer, Input, Static
from textual.worker import Worker, WorkerState

from engram.domain.safe_text import safe_text
from engram_tui.filter_input import FilterInput
from engram_tui.help import HelpScreen
from engram_tui.keys import BROWSE, MOVES, Key, bindings
from engram_tui.lore_list import LoreList
from engram_tui.messages import Described, Failed, Fetched, Listed, Matched, Voted
from engram_tui.preview import Preview
from engram_tui.reading import Heading, Matches, short_path
from engram_tui.rows import BEST, SORT_NAMES, Row, sorted_rows
from engram_tui.store_work import StoreWork
from engram_tui.wording import counts, empty_store, heading_line, judgement, no_match

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from engram.app import Engram

TYPING_REST = 0.08  # seconds without a key before a search starts
CURSOR_REST = 0.05  # seconds on a row before its lore is shown


class BrowseScreen(StoreWork):
    """Browse, search, read and judge lore."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "LoreList"
    DEFAULT_CSS = """
    BrowseScreen {
        & > #heading { height: 1; padding: 0 1; background: $primary 20%; text-wrap: nowrap; text-overflow: ellipsis; }
        & > #search { height: 1; padding: 0 1; background: $surface; }
        & > #search > #slash { width: 2; color: $text-accent; }
        & > #search > #counts { width: auto; color: $text-muted; }
        & > #trouble { display: none; height: auto; max-height: 3; padding: 0 1; background: $error 20%; color: $text-error; }
        & > #panes { height: 1fr; }
        & LoreList { width: 3fr; }
        & Preview { width: 2fr; border-left: solid $primary 40%; }
        & Preview:focus { border-left: solid $primary; }
        &.-narrow Preview { display: none; }
        &.-narrow.-reading Preview { display: block; width: 1fr; border-left: none; }
        &.-narrow.-reading LoreList { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(BROWSE, priority=["filter"])

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.listed: list[Row] = []
        self.total = 0
        self.order = "created"
        self.listed_order = ""  # of what `listed` holds; empty until the first page comes
        self.matches: Matches | None = None
        self.match_order = BEST
        self.heading: Heading | None = None
        self._typing: Timer | None = None
        self._resting: Timer | None = None

    def compose(self) -> ComposeResult:
        """Heading, search line, list and lore, trouble, keys."""
        yield Static(f"engram  {safe_text(short_path(self.store.path))}", id="heading", markup=False)
        with Horizontal(id="search"):
            yield Static("/", id="slash", markup=False)
            yield FilterInput(leave=self.leave_filter, move=self.move_cursor, id="filter")
            yield Static("opening …", id="counts", markup=False)
        with Horizontal(id="panes"):
            yield LoreList(id="list")
            yield Preview(id="preview")
        yield Static(id="trouble", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Ask for the list."""
        self.read_list(self.order)

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

    # Answers of the store

    @on(Listed)
    def take_list(self, message: Listed) -> None:
        """A page of the list came: show it unless a search is on."""
        page = message.page
        reordered = page.order != self.listed_order
        if page.order != self.order or not (page.complete or reordered):
            return  # of what is shown already, a first page alone would be less
        self.listed, self.listed_order, self.total = page.rows, page.order, page.total
        self._trouble("")
        if page.complete:
            self.read_heading()
        if self.wanted:
            self._show_counts()
        else:
            self._show(self.listed, top=reordered)

    @on(Matched)
    def take_matches(self, message: Matched) -> None:
        """A search was answered: show it if it is still what is asked."""
        if message.matches.text != self.wanted:
            return
        new = self.matches is None or self.matches.text != message.matches.text
        self.matches = message.matches
        self._trouble("; ".join(message.matches.notes))
        self.lore_list.say(*no_match(message.matches.text))
        self._show(sorted_rows(message.matches.rows, self.match_order), top=new)

    @on(Fetched)
    def take_lore(self, message: Fetched) -> None:
        """The lore under the cursor was read."""
        row = self.lore_list.current
        if row is None or row.id != message.wanted:
            return
        if message.shown is None:
            self.preview.say(row.title, message.trouble)
        else:
            self.preview.show(message.shown, self.now(), row.why)

    @on(Described)
    def take_heading(self, message: Described) -> None:
        """The store described itself."""
        self.heading = message.heading
        self._trouble(message.heading.trouble)
        self._show_counts()

    @on(Voted)
    def take_vote(self, message: Voted) -> None:
        """A judgement is written: show what it did, in place; the order stays as it is."""
        judged = message.judged
        self._trouble("")
        for rows in (self.listed, self.matches.rows if self.matches else [], self.lore_list.rows):
            assert isinstance(rows, list)
            _replace(rows, judged.id, round(judged.current * 1000), judged.validation_count)
        self.lore_list.refresh()
        title, words = judgement(judged, message.title)
        self.notify(words, title=title, markup=False)
        self._ask_lore()

    @on(Failed)
    def take_failure(self, message: Failed) -> None:
        """Say what went wrong and carry on."""
        if not self.listed_order:
            self.query_one("#counts", Static).update("")
        self._trouble(message.line)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A defect of ours in a thread: say so in one line too."""
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self._trouble(f"A defect in Engram: {type(error).__name__}: {error}. Please report it.")

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
            self._trouble("")
            self._show(self.listed)

    @on(LoreList.Highlighted)
    def moved(self) -> None:
        """Show the lore under the cursor once the cursor rests."""
        if self._resting:
            self._resting.stop()
        self._resting = self.set_timer(CURSOR_REST, self._ask_lore)

    @on(LoreList.Opened)
    def action_read(self) -> None:
        """Go into the lore: on a narrow terminal it takes the list's place."""
        if self.lore_list.current is not None:
            self.add_class("-reading")
            self._ask_lore()
            self.set_focus(self.preview)

    def action_back(self) -> None:
        """From the lore to the list."""
        self.remove_class("-reading")
        self.set_focus(self.lore_list)

    def action_clear(self) -> None:
        """From the search to everything."""
        self.search_line.clear()

    def action_filter(self) -> None:
        """Go to the search line; at once, so that the next key already arrives there."""
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

    def action_next(self, rows: int) -> None:
        """The next or previous lore."""
        self.move_cursor(rows)

    def action_sort(self) -> None:
        """The next order; a search has one more, its own."""
        orders = [name for name in SORT_NAMES if name != BEST or self.matches]
        if self.matches is None:
            self.order = _after(self.order, orders)
            self.read_list(self.order)
        else:
            self.match_order = _after(self.match_order, orders)
            self._show(sorted_rows(self.matches.rows, self.match_order), top=True)

    def action_refresh(self) -> None:
        """Look at every file again."""
        self.read_list(self.order, thorough=True)
        if self.wanted:
            self._search()

    def action_judge(self, kind: str) -> None:
        """Judge the lore under the cursor."""
        row = self.lore_list.current
        if row is not None:
            self.judge(kind, row.id, row.title)

    def action_keys(self) -> None:
        """Show all keys, and run the one that is picked."""
        self.app.push_screen(HelpScreen(), self._run_key)

    def action_quit(self) -> None:
        """Leave."""
        self.app.exit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """While one types a search, letters are letters; enter goes into a lore and esc out of it."""
        if isinstance(self.focused, Input):
            return action not in {key.action.partition("(")[0] for key in BROWSE}
        reading = self.has_class("-reading")
        return {"read": not reading, "back": reading, "clear": not reading}.get(action, True)

    # Showing

    def _search(self) -> None:
        if self.wanted:
            self.read_matches(self.wanted)

    def _ask_lore(self) -> None:
        row = self.lore_list.current
        if row is None:
            self.preview.say()
        elif self.has_class("-wide") or self.has_class("-reading"):
            self.read_lore(row.id)

    def on_resize(self) -> None:
        """A terminal that became wide shows a lore it had not read."""
        self.call_after_refresh(self._ask_lore)

    def _show(self, rows: list[Row], *, top: bool = False) -> None:
        """Show rows, the cursor on the lore where it was, or at the top."""
        current = self.lore_list.current
        self.lore_list.now = self.now()
        if not self.wanted:
            self.lore_list.say(*empty_store() if self.listed_order else ())
        self.lore_list.show(rows, keep="" if top or current is None else current.id)
        self._show_counts()

    def _show_counts(self) -> None:
        order = self.order if self.matches is None else self.match_order
        self.query_one("#counts", Static).update(counts(self.matches, self.total, order))
        strategy = self.matches.strategy if self.matches else ""
        line = heading_line(
            short_path(self.store.path), self.heading, self.total, strategy, self.size.width - 2
        )
        self.query_one("#heading", Static).update(line)

    def _trouble(self, line: str) -> None:
        widget = self.query_one("#trouble", Static)
        widget.update(safe_text(line))
        widget.display = bool(line)

    async def _run_key(self, key: Key | None) -> None:
        if key is not None:
            await self.app.run_action(key.action, self.lore_list if key in MOVES else self)


def _after(name: str, names: list[str]) -> str:
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]


def _replace(rows: list[Row], lore_id: str, confidence: int, validation_count: int) -> None:
    for index, row in enumerate(rows):
        if row.id == lore_id:
            rows[index] = row._replace(confidence=confidence, validation_count=validation_count)
            return
