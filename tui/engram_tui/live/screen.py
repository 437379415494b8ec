"""The live screen, a flight recorder: what agents asked a moment ago, what they got, what was withheld and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.widgets import Static

from engram_tui.judging import Judging
from engram_tui.live.actions import ACTIONS
from engram_tui.live.lines import CHOICES, KEPT, News, details_of, lines_of, read_news
from engram_tui.shell.action import bindings
from engram_tui.shell.sanitize import words
from engram_tui.widgets.line_screen import LineScreen
from engram_tui.widgets.rows import count

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.store.activity_log import LiveEntry
    from engram_tui.widgets.line_list import Line

LOOK = 0.5  # seconds between looks for new entries


class LiveScreen(LineScreen, Judging):
    """Follow what happens, and judge it there and then."""

    SCREEN = "live"
    DEFAULT_CSS = """
    LiveScreen {
        & #about { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & #left { width: 5fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.entries: deque[LiveEntry] = deque(maxlen=KEPT)
        self.titles: dict[str, str] = {}
        self.last: int | None = None  # the number of the newest entry; None: not looked yet
        self.only = 0  # which of the choices is shown
        self.unseen = 0  # entries that came while it did not follow
        self._asking = False

    def compose_above(self) -> Iterator[Widget]:
        """What is shown, and whether it follows."""
        yield Static("opening …", id="about", markup=False)

    def on_mount(self) -> None:
        """Look now, and again and again while this screen is open."""
        self.look()
        self.set_interval(LOOK, self.look)

    # What actions ask

    def is_listing(self) -> bool:
        """Whether the list has the focus."""
        return not self.is_reading()

    def follows(self) -> bool:
        """Whether the cursor is on the newest line: then it goes along with what comes."""
        return self.line_list.cursor >= len(self.line_list.lines) - 1

    def can_follow(self) -> bool:
        """Whether one has scrolled away from the newest."""
        return not self.follows()

    # Looking

    def look(self) -> None:
        """Ask for what is new, unless that is being asked, or another screen is open."""
        if self._asking or self.shell.current is not self:
            return
        self._asking = True
        self.ask(
            "live",
            partial(self._news, self.last, dict(self.titles)),
            self._take,
            failed=self._not_read,
            exclusive=False,
        )

    @staticmethod
    def _news(since: int | None, known: dict[str, str], store: Engram) -> News:
        return read_news(store, since, known)

    def _take(self, news: News) -> None:
        self._asking = False
        first, self.last = self.last is None, news.entries[-1].number if news.entries else self.last or 0
        if first:
            self.shell.listed(self)
        if not (first or news.entries):
            return
        follows = first or self.follows()
        self.titles.update(news.titles)
        self.entries.extend(news.entries)
        self.unseen = 0 if follows else self.unseen + len(news.entries)
        self.trouble("")
        self._show(follow=follows)

    def _not_read(self, line: str) -> None:
        self._asking = False
        self.trouble(line)

    def store_changed(self) -> None:
        """Titles may be others, and lore may be gone."""
        self.titles.clear()
        self.ask_lore()
        entries = list(self.entries)
        self.ask("titles", partial(self._titles, entries), self._take_titles)

    @staticmethod
    def _titles(entries: Sequence[LiveEntry], store: Engram) -> dict[str, str]:
        from engram_tui.live.lines import ids_in, read_titles

        return read_titles(store, {one for entry in entries for one in ids_in(entry)})

    def _take_titles(self, titles: dict[str, str]) -> None:
        self.titles.update(titles)
        self._show(follow=False)

    # Showing

    def _show(self, *, follow: bool) -> None:
        chosen = self.line_list.line
        fits = CHOICES[self.only][1]
        lines = [
            line
            for entry in self.entries
            if fits(entry)
            for line in lines_of(entry, self.titles, self.is_narrow)
        ]
        self.line_list.say(*self._nothing())
        self.line_list.show_lines(lines, keep=chosen.id if chosen else "")
        if follow:
            self.line_list.action_edge(True)
        self._say_about()
        self.refresh_bindings()

    def _nothing(self) -> tuple[str, ...]:
        if not self.store.store.settings.flag("recall.log"):
            return (
                "The record is turned off.",
                "",
                "engram config recall.log true --user",
                "    turns it on",
            )
        if self.only:
            return (f"Nothing of the kind yet: {CHOICES[self.only][0]}.", "", "f shows more.")
        return (
            "Nothing was asked here yet.",
            "",
            "What agents ask appears by itself, the newest at the bottom.",
            "engram connect claude-code",
            "    has an agent ask",
            'engram query "why does the queue stop"',
            "    asks from here",
        )

    def _say_about(self) -> None:
        new = f"{count(self.unseen)} new below, F follows" if self.unseen else "F follows again"
        state = "following" if self.follows() else new
        self.query_one("#about", Static).update(
            words(f"{CHOICES[self.only][0]} · {state}   (f shows only …)")
        )

    def line_chosen(self) -> None:
        """The newest line is seen once the cursor is there."""
        if self.follows():
            self.unseen = 0
        if self.last is not None:
            self._say_about()

    def on_resize(self) -> None:
        """Columns have other widths."""
        super().on_resize()
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        if self.last is not None:
            self._show(follow=self.follows())

    def instead_of_lore(self, line: Line | None) -> tuple[str, ...]:
        """The whole of an entry."""
        entry = next(
            (one for one in self.entries if line is not None and str(one.number) == line.group), None
        )
        return details_of(entry, self.titles) if entry is not None else ()

    # What one does

    def action_live_only(self) -> None:
        """The next choice."""
        follows = self.follows()
        self.only = (self.only + 1) % len(CHOICES)
        self._show(follow=follows or not self.line_list.lines)

    def action_live_follow(self) -> None:
        """To the newest."""
        self.line_list.action_edge(True)

    def action_next_entry(self) -> None:
        """The next thing that was done."""
        self._to_entry(1)

    def action_previous_entry(self) -> None:
        """The one before."""
        self._to_entry(-1)

    def _to_entry(self, by: int) -> None:
        lines, at = self.line_list.lines, self.line_list.cursor
        starts = [number for number, line in enumerate(lines) if line.id.endswith(":")]
        if by > 0:
            self.line_list.cursor = next((number for number in starts if number > at), len(lines) - 1)
        else:
            self.line_list.cursor = next((number for number in reversed(starts) if number < at), 0)
