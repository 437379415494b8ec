"""The second screen: what waits for a person, one item after another, each with why it is here and what may be decided.

Deciding moves on at once; the write follows in a thread. The queue is in `review_queue`, what is shown
about an item in `exhibits`, the decisions in `review_deeds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Static

from engram.domain.review.review import CONTRADICTION, DUPLICATE, JUNK, STALE, WEAK
from engram_tui.browse.queries import QUICK
from engram_tui.review.actions import ACTIONS
from engram_tui.review.decisions import ReviewDecisions
from engram_tui.review.format import decisions_line, kinds_line, progress_line, why_lines
from engram_tui.review.item_details import PAIRS, Exhibit, read_exhibit, read_use
from engram_tui.review.pair_search import PairSearch
from engram_tui.shell.action import bindings
from engram_tui.shell.aside import own_handle
from engram_tui.shell.sanitize import words

if TYPE_CHECKING:
    from rich.text import Text
    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.review.review import Item
    from engram.usecases.recall.recall_preview import WouldAnswer
    from engram.usecases.review.review import Queue

GROUPS = (QUICK, (WEAK, STALE, JUNK), (CONTRADICTION, DUPLICATE))  # in the order in which they are asked for
REST = 0.6  # seconds after a decision before the queue is asked for anew
KEPT = 64  # exhibits


class ReviewScreen(ReviewDecisions):
    """Decide about what waits for a person."""

    SCREEN = "review"
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ReviewScreen {
        & #progress { height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
        & #kinds { height: auto; max-height: 2; padding: 0 1; background: $surface; color: $text-muted; }
        & #sides { height: 1fr; }
        & ToastRack { margin-bottom: 6; }
        & .side { width: 1fr; border: round $primary 50%; border-title-color: $text-primary; }
        & .side { padding: 0 1; scrollbar-size-vertical: 1; }
        & .side Static { height: auto; }
        & .facts { color: $text-muted; }
        & #why { height: auto; max-height: 7; padding: 0 1; }
        & #decisions { height: auto; max-height: 4; padding: 0 1; background: $surface; }
        &.-narrow #kinds { max-height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-narrow #why { max-height: 4; }
        &.-narrow #sides { layout: vertical; }
        &.-narrow .side { height: 1fr; border: none; border-top: solid $primary 50%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.other = 0  # which of the older lore of a group is compared
        self.exhibit: Exhibit | None = None
        self._exhibits: dict[tuple[str, str, int], Exhibit] = {}
        self._uses: dict[tuple[str, str], WouldAnswer] = {}
        self._sought: set[str] = {kind for group in GROUPS for kind in group}
        self._pairs = PairSearch(store)
        self._resting: Timer | None = None
        self._said: dict[str, Text | str] = {}

    def compose_body(self) -> Iterator[Widget]:
        """How far one is, the two sides, why, and what may be decided."""
        yield Static("opening …", id="progress", markup=False)
        yield Static(id="kinds", markup=False)
        with Horizontal(id="sides"):
            for name in ("left", "right"):
                with VerticalScroll(id=name, classes="side", can_focus=False):
                    yield Static(id=f"{name}-facts", classes="facts", markup=False)
                    yield Static(id=f"{name}-text", markup=False)
        yield Static(id="why", markup=False)
        yield Static(id="decisions", markup=False)

    def on_mount(self) -> None:
        """Ask for what is found quickly first."""
        self.show_item()
        self.read_queue()

    def on_unmount(self) -> None:
        """Nobody waits for pairs any more."""
        self._pairs.stop()

    # The queue

    def read_queue(self) -> None:
        """Ask for every group of kinds; what takes long comes last, and holds nothing up."""
        self._sought = {kind for group in GROUPS for kind in group}
        kinds = GROUPS[0]
        self.ask(f"queue {kinds[0]}", partial(_waiting, kinds), partial(self._take, kinds))
        self.ask("size", self._pairs.measure, self._read_slow)

    def _read_slow(self, apart: bool) -> None:
        slow = GROUPS[1]
        question = _waiting_apart if apart else _waiting
        self.ask(f"queue {slow[0]}", partial(question, slow), partial(self._take, slow), apart=apart)
        self._pairs.ready(self, self._read_pairs)

    def _read_pairs(self) -> None:
        kinds = GROUPS[-1]
        self.ask(f"queue {kinds[0]}", partial(_waiting, kinds), partial(self._take, kinds))

    def _take(self, kinds: Sequence[str], found: Queue) -> None:
        self._sought -= set(kinds)
        self.queue.take(kinds, found.items)
        if kinds == GROUPS[0]:
            self.shell.listed(self)
        self.show_item()

    def store_changed(self) -> None:
        """Somebody else, or undo, changed the store."""
        self._exhibits.clear()
        self._uses.clear()
        self.read_queue()

    def lore_changed(self, ids: Sequence[str]) -> None:
        """A decision is written; once the keys rest, look what else it settled."""
        self.queue.settled(ids, failed=not self.said_well)
        if self._resting:
            self._resting.stop()
        self._resting = self.set_timer(REST if self.said_well else 0.01, self.store_changed)

    # Showing

    def show_item(self) -> None:
        """Show the current item as far as it is known, and ask for the rest."""
        item = self.queue.current
        narrow = self.is_narrow
        self._say("progress", progress_line(self.queue, searching=bool(self._sought)))
        self._say("kinds", kinds_line(self.queue, self._sought))
        self._say(
            "decisions",
            decisions_line(item, self.queue, self.keys_now(), self.app.size.width - 2, narrow=narrow),
        )
        if item is None:
            self._show_nothing()
        else:
            key = (item.id, item.mark, self.other)
            if key in self._exhibits:
                self._draw(self._exhibits[key])
            else:
                self._say_why(item, ())
                self._put("left", item.title, "", "reading …")
                self._put("right", "", "", "")
                self.ask("exhibit", lambda store: read_exhibit(store, item, key[2]), partial(self._seen, key),
                         failed=partial(self._unseen, item))  # fmt: skip
        self.refresh_bindings()

    def _seen(self, key: tuple[str, str, int], exhibit: Exhibit) -> None:
        self._keep(key, exhibit)
        item = self.queue.current
        if item is not None and (item.id, item.mark, self.other) == key:
            self._draw(exhibit)

    def _unseen(self, item: Item, line: str) -> None:
        """It cannot be read; most likely it has just gone."""
        if self.queue.current == item:
            self._put("left", item.title, "", line)
            self._put("right", "", "", "")

    def _keep(self, key: tuple[str, str, int], exhibit: Exhibit) -> None:
        self._exhibits[key] = exhibit
        while len(self._exhibits) > KEPT:
            del self._exhibits[next(iter(self._exhibits))]

    def _draw(self, exhibit: Exhibit) -> None:
        another = exhibit is not self.exhibit
        self.exhibit = exhibit
        left, *rest = exhibit.sides
        self._put("left", left.title, left.facts, left.text, another)
        if rest:
            self._put("right", rest[0].title, rest[0].facts, rest[0].text, another)
        self.query_one("#right").display = bool(rest)
        self._say_why(exhibit.item, exhibit.notes)
        self._preload()
        self._ask_use(exhibit.item)

    def _say_why(self, item: Item, notes: Sequence[str]) -> None:
        use = self._uses.get((item.id, item.mark))
        told = why_lines(item, notes, use, narrow=self.is_narrow, cells=self.app.size.width - 2)
        self._say("why", "\n".join(told))

    def _ask_use(self, item: Item) -> None:
        """Which past queries it answers, found while one reads."""
        if item.lore and (item.id, item.mark) not in self._uses:
            self.ask(
                "use",
                partial(read_use, item.lore[-1]),
                partial(self._know_use, item),
                failed=lambda _line: None,
                apart=True,
            )

    def _know_use(self, item: Item, use: WouldAnswer) -> None:
        self._uses[item.id, item.mark] = use
        if self.exhibit is not None and self.exhibit.item == item == self.queue.current:
            self._say_why(item, self.exhibit.notes)

    def _preload(self) -> None:
        """Have what the next decision leads to at hand."""
        item = self.queue.upcoming
        if item is not None and (item.id, item.mark, 0) not in self._exhibits:
            key = (item.id, item.mark, 0)
            self.ask(
                "preload",
                lambda store: read_exhibit(store, item),
                partial(self._keep, key),
                failed=lambda _line: None,
            )

    def _show_nothing(self) -> None:
        self.exhibit = None
        self.query_one("#right").display = False
        done = len(self.queue.decided)
        decided = f"{done:,} decided. " if done else ""
        text = "Nothing yet; still looking." if self._sought else f"{decided}Nothing waits for you."
        self._put("left", "the queue", "", text)
        self._say("why", "")

    def _put(self, name: str, title: str, facts: str, text: Text | str, another: bool = True) -> None:
        side = self.query_one(f"#{name}", VerticalScroll)
        side.border_title = words(title)
        self._say(f"{name}-facts", facts)
        self._say(f"{name}-text", words(text) if isinstance(text, str) else text)
        if another:
            side.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Another width has room for other lines."""
        self.call_after_refresh(self.show_item)

    def _say(self, name: str, content: Text | str) -> None:
        """Have a widget say something, if it says something else: each update costs a layout."""
        if self._said.get(name) != content:
            self._said[name] = content
            self.query_one(f"#{name}", Static).update(content)

    # Looking around

    def action_next_item(self) -> None:
        """The next item."""
        self._move(1)

    def action_previous_item(self) -> None:
        """The item before."""
        self._move(-1)

    def _move(self, by: int) -> None:
        self.other = 0
        self.queue.move(by)
        self.show_item()

    def action_next_of_group(self) -> None:
        """Another lore of the group on the right."""
        item = self.queue.current
        if item is not None and item.kind in PAIRS and len(item.lore) > 2:
            self.other = (self.other + 1) % (len(item.lore) - 1)
            self.show_item()

    def action_kind(self) -> None:
        """Go to the first item of a kind."""
        from engram_tui.shell.picker import Choice, Picker

        choices = [
            Choice(kind, kind, after=f"{number:,} waiting") for kind, number in self.queue.by_kind.items()
        ]
        self.app.push_screen(Picker("Go to", choices, hint="which kind …"), self._go_to_kind)

    def _go_to_kind(self, kind: str | None) -> None:
        if kind:
            self.other = 0
            self.queue.look_at(kind)
            self.show_item()

    def action_scroll_texts(self, direction: int) -> None:
        """Scroll both texts together."""
        for name in ("left", "right"):
            side = self.query_one(f"#{name}", VerticalScroll)
            side.scroll_relative(y=direction * max(1, side.size.height // 2), animate=False, force=True)

    def action_difference(self) -> None:
        """The whole difference as one text."""
        from engram_tui.widgets.difference import DifferenceScreen

        if self.exhibit is not None:
            self.app.push_screen(DifferenceScreen(self.exhibit.item.title, self.exhibit.whole))


def _waiting(kinds: Sequence[str], store: Engram) -> Queue:
    return store.review(kinds=kinds)


def _waiting_apart(kinds: Sequence[str], store: Engram) -> Queue:
    """The same while the screens ask other things: in a large store it takes seconds."""
    with own_handle(store) as own:
        return own.review(kinds=kinds)
