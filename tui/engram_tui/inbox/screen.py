"""The Inbox: everything that waits for a person as a list, and beside it the item under the cursor with its decisions.

A decision removes its item from the list at once; the write follows in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Static

from engram.domain.review.review import JUNK, MOMENT, PROPOSAL, STALE, WEAK, Item
from engram.usecases.review.items import Items, PackedItem
from engram.usecases.review.waiting import QUICK_KINDS
from engram_tui.inbox.actions import ACTIONS
from engram_tui.inbox.decisions import DecidingScreen
from engram_tui.inbox.format import PAIRS, decisions_line, kinds_line, progress_line, why_lines
from engram_tui.inbox.inbox_list import LABELS, InboxList
from engram_tui.inbox.item_details import ItemDetails, read_details, read_usefulness
from engram_tui.inbox.pair_search import PairSearch
from engram_tui.inbox.queue import ORDERS, ItemFilter, group_items, kind_name
from engram_tui.shell.action import key_label
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import CURSOR_DELAY, EntryList
from engram_tui.widgets.filter_input import TYPING_DELAY, FilterInput
from engram_tui.widgets.option_lines import StatusText
from engram_tui.widgets.word_marks import text_before_marks

if TYPE_CHECKING:
    from rich.text import Text
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.recall.recall_preview import WouldAnswer
    from engram_tui.inbox.queue import QueueItem

# Kinds that the index lists, and those for which entries are compared with code and files.
AGED_KINDS, SLOW_KINDS = (WEAK, STALE), (STALE, JUNK, MOMENT)
ALL_KINDS = frozenset((*QUICK_KINDS, *AGED_KINDS, *SLOW_KINDS, *PAIRS))
FIRST_PAGE = 200  # stale entries that are shown before all of them are read
DECISION_DELAY = 0.6  # seconds after a decision before the queue is read again
MAX_CACHED = 64  # items whose details are cached
TWO_SIDES = 84  # cells from which two texts fit side by side

Key = tuple[str, str, int]  # an item's id and mark, and which entry of its group is compared


class InboxScreen(DecidingScreen):
    """Decide about the items that wait for a person."""

    SCREEN = "inbox"
    AUTO_FOCUS = "InboxList"
    DEFAULT_CSS = """
    InboxScreen {
        & #progress { height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
        & #search { height: 1; padding: 0 1; background: $surface; display: none; }
        & #search.-shown { display: block; }
        & #slash { width: 2; color: $text-accent; }
        & #columns { height: 1; color: $text-muted; text-wrap: nowrap; }
        & #panes { height: 1fr; }
        & #left { width: 5fr; }
        & InboxList { height: 1fr; }
        & #kinds { height: auto; max-height: 2; padding: 0 1; color: $text-muted; }
        & #item { width: 3fr; border-left: solid $primary 40%; }
        & #title { height: auto; max-height: 3; padding: 0 1; text-style: bold; color: $text-primary; }
        & #sides { height: 1fr; }
        & .side { width: 1fr; height: 1fr; border-top: solid $primary 40%; border-title-color: $text-primary; }
        & .side { padding: 0 1; scrollbar-size-vertical: 1; }
        & .side StatusText { height: auto; }
        & .facts { color: $text-muted; }
        & #why { height: auto; max-height: 12; padding: 0 1; border-top: solid $primary 40%; }
        & #decisions { height: auto; max-height: 7; padding: 0 1; background: $surface; }
        & ToastRack { margin-bottom: 1; }
        &.-reading .side { border-top: solid $primary; }
        &.-narrow #item { display: none; }
        &.-narrow.-reading #item { display: block; width: 1fr; border-left: none; }
        &.-narrow.-reading #left { display: none; }
        & #item.-empty > * { display: none; }
        & #item.-empty > #title { display: block; color: $text-muted; text-style: none; }
        &.-low #title { max-height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-low #decisions { max-height: 2; }
        &.-low .facts, &.-low #why, &.-low #kinds { display: none; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.details: ItemDetails | None = None
        self._cache: dict[Key, ItemDetails] = {}
        self._usefulness: dict[tuple[str, str], WouldAnswer] = {}
        self._unread_kinds: set[str] = set(ALL_KINDS)
        self._pairs = PairSearch(store)
        self._is_new = True  # until every kind was read once

    def compose_body(self) -> Iterator[Widget]:
        """Yield the list under its progress; the item with its texts, why it is here, and its decisions."""
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield StatusText("opening …", id="progress")
                with Horizontal(id="search"):
                    yield Static("/", id="slash", markup=False)
                    yield FilterInput(
                        leave=self.leave_filter,
                        move=self.action_move_cursor,
                        id="filter",
                        placeholder="words",
                    )
                yield StatusText(id="columns")
                yield InboxList(id="list")
                yield StatusText(id="kinds")
            with Vertical(id="item"):
                yield StatusText(id="title")
                with Container(id="sides"):
                    for name in ("left-side", "right-side"):
                        with VerticalScroll(id=name, classes="side", can_focus=False):
                            yield StatusText(id=f"{name}-facts", classes="facts")
                            yield StatusText(id=f"{name}-text")
                yield StatusText(id="why")
                yield StatusText(id="decisions")

    def on_mount(self) -> None:
        """Read the queue, quick kinds first."""
        self.item_list.now = self.now()
        self.show_item()
        self.read_queue()

    def on_unmount(self) -> None:
        """Stop searching for pairs."""
        self._pairs.stop()

    # Conditions of the actions

    def has_any(self) -> bool:
        """Return whether anything waits at all."""
        return bool(self.queue.items)

    def may_mark(self) -> bool:
        """Return whether there is an item to mark in the list."""
        return self.is_listing() and self.item is not None

    def can_open(self) -> bool:
        """Return whether there is an item to open."""
        return self.item is not None and (self.is_listing() or self.item.kind == PROPOSAL)

    def has_group(self) -> bool:
        """Return whether the item is about more than two entries."""
        return self.item is not None and self.item.kind in PAIRS and len(self.item.lore) > 2

    def is_filtered(self) -> bool:
        """Return whether a filter is on."""
        return self.queue.filter.narrows

    def can_clear(self) -> bool:
        """Return whether esc has something to clear."""
        return self.is_listing() and bool(self.item_list.marked or self.is_filtered())

    # Reading the queue

    def read_queue(self) -> None:
        """Read every kind of item; slow kinds come last and block nothing."""
        self._unread_kinds = set(ALL_KINDS)
        if not self.queue.items:
            self._ask_kinds((STALE,), first=FIRST_PAGE)
        self._ask_kinds(QUICK_KINDS)
        self.ask("size", self._pairs.measure, self._read_rest)

    def _read_rest(self, large: bool) -> None:
        if large:
            self._ask_kinds(AGED_KINDS, code=False, done=())
        self._ask_kinds(tuple(dict.fromkeys((*AGED_KINDS, *SLOW_KINDS))), own_store=large)
        self._pairs.call_when_ready(self, lambda: self._ask_kinds(PAIRS))

    def _ask_kinds(
        self, kinds: Sequence[str], *, own_store: bool = False, code: bool = True, first: int | None = None,
        done: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Read the items of some kinds, at most the `first` ones, of which `done` (None: all) are then complete.

        Set `own_store` in a large store, where it takes seconds.
        """

        def read(store: Engram) -> Mapping[str, Sequence[QueueItem]]:
            from engram.usecases.review import review

            return group_items(review.review(store.store, kinds=kinds, code=code, first=first).items)

        complete = () if first else kinds if done is None else done
        self.ask(
            f"queue {kinds[0]} {code} {first}",
            read,
            partial(self._receive_kinds, kinds, complete, first),
            own_store=own_store,
        )

    def _receive_kinds(
        self,
        kinds: Sequence[str],
        complete: Sequence[str],
        first: int | None,
        found: Mapping[str, Sequence[QueueItem]],
    ) -> None:
        if first and self.queue.by_kind.keys() & {*kinds}:
            return  # all of them came earlier
        self._unread_kinds -= set(complete)
        returned = self.queue.update(kinds, found)
        if kinds == QUICK_KINDS:
            self.shell.note_shown(self)
        self.show_list(keep=returned)
        if not self._unread_kinds:
            self._is_new = False
            self.shell.note_waiting(self.queue.by_kind)

    def store_changed(self) -> None:
        """Read everything again: somebody else, or undo, changed the store."""
        self._cache.clear()
        self._usefulness.clear()
        self.read_queue()

    def entries_changed(self, ids: Sequence[str]) -> None:
        """Read again, as a decision may resolve other items, too; but not before the user pauses."""
        self.queue.finish(ids, failed=not self.last_succeeded)
        self.debounce("queue", DECISION_DELAY if self.last_succeeded else 0.01, self.store_changed)

    # Showing

    def show_list(self, *, keep: str = "") -> None:
        """Show the list, the cursor on the item with the id `keep`, else on the one where it was."""
        item, items = self.item, self.item_list
        items.now = self.now()
        if self.queue.items:
            items.set_placeholder(
                "Nothing has these words.", "", "F removes all filters, / changes the words."
            )
        elif self._unread_kinds:
            items.set_placeholder("Nothing yet; still looking.")
        else:
            done = len(self.queue.decided)
            decided = (
                f"{done:,} decided; u undoes the last."
                if done
                else "Engram lists here what needs a decision of yours."
            )
            items.set_placeholder("Nothing waits for you.", "", decided)
        if self._is_new and not items.cursor and not self.is_reading():
            item = None  # nobody has moved yet: stay at the top, where items of more worth come in
        items.show_items(Items(self.queue.listed), keep=keep or (item.id if item else ""), top=item is None)
        self._show_summary()
        self.show_item()

    def _show_summary(self) -> None:
        """Draw the lines above and below the list."""
        items = self.item_list
        progress = progress_line(self.queue, items.cursor, len(items.marked), bool(self._unread_kinds))
        self._text("progress").show(progress)
        self._text("columns").show(items.heading() if items.rows else "")
        self._text("kinds").show(kinds_line(self.queue))

    @on(EntryList.Highlighted)
    def moved(self) -> None:
        """Show the item under the cursor once the cursor rests."""
        self.other = 0
        self._show_summary()
        self.debounce("item", CURSOR_DELAY, self.show_item)

    def show_item(self) -> None:
        """Show the item under the cursor as far as it is known, and read the rest."""
        item = self.item
        if not self.is_mounted:
            return
        labels = {action.name: (key_label(self.keys_of(action)), self.title_of(action)) for action in ACTIONS}
        cells, is_low = self.item_cells, self.has_class("-low")
        self._text("decisions").show(
            decisions_line(item, labels, cells, short=self.is_narrow or is_low, brief=is_low)
        )
        self.query_one("#item").set_class(item is None, "-empty")
        if item is None:
            self.details = None
            self._text("title").show("The item under the cursor is shown here.")
        else:
            key = (item.id, item.mark, self.other)
            if key in self._cache:
                self._show_details(self._cache[key])
            else:
                self._show_title(item)
                self._show_why(item, ())
                if not self.is_narrow or self.is_reading():
                    self.ask("details", lambda store: read_details(store, item, key[2]),
                             partial(self._receive_details, key), failed=partial(self._show_failure, item))  # fmt: skip
        self.refresh_bindings()

    @property
    def item_cells(self) -> int:
        """The width of the item's pane."""
        width = self.app.size.width
        return width - 2 if self.is_narrow else width * 3 // 8 - 3

    def _text(self, name: str) -> StatusText:
        return self.query_one(f"#{name}", StatusText)

    def _receive_details(self, key: Key, details: ItemDetails) -> None:
        self._cache[key] = details
        while len(self._cache) > MAX_CACHED:
            del self._cache[next(iter(self._cache))]
        item = self.item
        if item is not None and (item.id, item.mark, self.other) == key:
            self._show_details(details)

    def _show_failure(self, item: Item, line: str) -> None:
        """Show why the item cannot be read; most likely it is gone."""
        if self.item == item:
            self._show_side("left-side", "", "", line)
            self._show_side("right-side", "", "", "")

    def _show_title(self, item: Item) -> None:
        sign, label, _ = LABELS[item.kind]
        self._text("title").show(f"{sign} {label}  {safe_line(item.title)}")

    def _show_details(self, details: ItemDetails) -> None:
        is_other = details is not self.details
        self.details = details
        left, *rest = details.sides
        self._show_title(details.item)
        sides = self.query_one("#sides")
        sides.styles.layout = "horizontal" if self.item_cells >= TWO_SIDES else "vertical"
        self._show_side("left-side", left.title, left.facts, left.text, from_top=is_other)
        if rest:
            right = rest[0]
            self._show_side("right-side", right.title, right.facts, right.text, from_top=is_other)
        self.query_one("#right-side").display = bool(rest)
        if is_other and rest:
            self.call_after_refresh(self._scroll_to_difference, details)
        self._show_why(details.item, details.notes)
        self._read_usefulness(details.item)

    def _scroll_to_difference(self, details: ItemDetails) -> None:
        """Scroll each text to its first difference, if that is out of view."""
        for name, side in zip(("left-side", "right-side"), details.sides, strict=True):
            pane, text = self.query_one(f"#{name}", VerticalScroll), self._text(f"{name}-text")
            before = text_before_marks(side.text)
            if before is None or self.details is not details or not text.size.width:
                continue
            line = text.virtual_region.y + len(before.wrap(self.app.console, text.size.width))
            if line > pane.size.height:
                pane.scroll_to(y=line - max(1, pane.size.height // 2), animate=False, force=True)

    def _show_side(
        self, name: str, title: str, facts: str, text: Text | str, *, from_top: bool = True
    ) -> None:
        side = self.query_one(f"#{name}", VerticalScroll)
        side.border_title = safe_line(title)
        self._text(f"{name}-facts").show(facts)
        self._text(f"{name}-text").show(safe_line(text) if isinstance(text, str) else text)
        if from_top:
            side.scroll_home(animate=False)

    def _show_why(self, item: Item, notes: Sequence[str]) -> None:
        usefulness = self._usefulness.get((item.id, item.mark))
        lines = why_lines(item, notes, usefulness, narrow=self.is_narrow, cells=self.item_cells)
        self._text("why").show("\n".join(lines))

    def _read_usefulness(self, item: Item) -> None:
        """Find out which past queries an item answers, while the user reads it."""
        if item.lore and (item.id, item.mark) not in self._usefulness:
            self.ask(
                "use",
                partial(read_usefulness, item.lore[-1]),
                partial(self._receive_usefulness, item),
                failed=lambda _line: None,
                unlocked=True,
            )

    def _receive_usefulness(self, item: Item, usefulness: WouldAnswer) -> None:
        self._usefulness[item.id, item.mark] = usefulness
        if self.details is not None and self.details.item == item == self.item:
            self._show_why(item, self.details.notes)

    def on_resize(self) -> None:
        """Redraw the lines for the new width."""
        self.call_after_refresh(self._show_summary)
        self.call_after_refresh(self.show_item)

    # Moving and reading

    @on(EntryList.Opened)
    def action_open(self) -> None:
        """Go into the item: on a narrow terminal it takes the list's place; a proposal has a screen of its own."""
        if self.item is not None and self.item.kind == PROPOSAL:
            self._open_proposal(self.item)
        elif self.item is not None:
            self.add_class("-reading")
            self.set_focus(None)
            self.show_item()

    def _open_proposal(self, item: Item) -> None:
        from engram.usecases.review.proposal_items import proposal_name
        from engram_tui.proposal.screen import ProposalScreen

        def show(name: str) -> None:
            self.app.push_screen(ProposalScreen(self.store, name))

        self.ask("proposal", lambda store: proposal_name(store.store, item), show, opens=True)

    def action_back(self) -> None:
        """Go from the item to the list."""
        super().action_back()
        self.call_after_refresh(self._show_summary)  # the hidden list had no width

    def action_next_of_group(self) -> None:
        """Compare with another entry of the group."""
        item = self.item
        if item is not None and self.has_group():
            self.other = (self.other + 1) % (len(item.lore) - 1)
            self.show_item()

    def action_scroll_texts(self, direction: int) -> None:
        """Scroll both texts together."""
        for name in ("left-side", "right-side"):
            side = self.query_one(f"#{name}", VerticalScroll)
            side.scroll_relative(y=direction * max(1, side.size.height // 2), animate=False, force=True)

    def action_difference(self) -> None:
        """Show the whole difference as one text."""
        from engram_tui.shell.text_screen import DifferenceScreen

        item = self.item
        if item is None:
            return

        def show(details: ItemDetails) -> None:
            self.app.push_screen(DifferenceScreen(details.item.title, details.difference))

        if self.details is not None and self.details.item == item:
            show(self.details)
        else:
            self.ask("difference", lambda store: read_details(store, item), show, opens=True)

    # Marks, filters, order

    def show_marks(self) -> None:
        """Count the marked items."""
        self._show_summary()

    def clear_filters(self) -> None:
        """List all."""
        self.action_no_facets()

    def action_filter(self) -> None:
        """Let the user type words to filter by."""
        self.remove_class("-reading")
        self.query_one("#search").add_class("-shown")
        self.set_focus(self.query_one(FilterInput))

    @on(Input.Changed, "#filter")
    def typed(self) -> None:
        """Filter once the user stops typing."""
        self.debounce("filter", TYPING_DELAY, self._filter_by_text)

    def _filter_by_text(self) -> None:
        text = self.query_one(FilterInput).value.strip()
        if text != self.queue.filter.text:
            self.filter_by(self.queue.filter._replace(text=text))

    def leave_filter(self, cleared: bool) -> None:
        """Go back to the list, without the words if `cleared`."""
        line = self.query_one(FilterInput)
        if cleared:
            line.clear()
        self._filter_by_text()
        self.query_one("#search").set_class(bool(line.value.strip()), "-shown")
        self.set_focus(self.item_list)

    def filter_by(self, item_filter: ItemFilter) -> None:
        """List only the items that pass this filter."""
        self.queue.filter = item_filter
        self.queue.list()
        self.show_list()

    def action_no_facets(self) -> None:
        """List all."""
        self.query_one(FilterInput).clear()
        self.query_one("#search").remove_class("-shown")
        self.filter_by(ItemFilter())

    def action_kind(self) -> None:
        """Filter by a kind, or by who recorded it."""
        from engram_tui.shell.picker import Choice

        people = dict.fromkeys(
            item.who
            for item in (*self.queue.items, self.item)
            if item and not isinstance(item, PackedItem) and item.who
        )
        choices = [
            Choice("kind ", "all", after="no filter"),
            *(
                Choice(f"kind {kind}", kind_name(kind), after=f"{number:,} waiting")
                for kind, number in self.queue.by_kind.items()
            ),
            *(Choice(f"who {name}", safe_line(name), after="who wrote it") for name in people),
        ]
        self.pick("Show only", choices, self._handle_facet, "a kind, a name …")

    def _handle_facet(self, picked: str) -> None:
        name, _, value = picked.partition(" ")
        before = self.queue.filter
        self.filter_by(before._replace(**{name: value}) if value else before._replace(kind="", who=""))

    def action_sort(self) -> None:
        """Sort by the next order."""
        self.queue.order = ORDERS[(ORDERS.index(self.queue.order) + 1) % len(ORDERS)]
        self.queue.list()
        self.show_list()
