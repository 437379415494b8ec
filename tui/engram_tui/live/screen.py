"""The live screen: what agents asked, what they got, what was withheld and why, as it happens."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.widgets import Static

from engram_tui.entry_actions.screen import JudgeScreen
from engram_tui.live.actions import ACTIONS
from engram_tui.live.lines import (
    CHOICES,
    MAX_EVENTS,
    News,
    details_of,
    ids_in,
    lines_of,
    read_news,
    read_titles,
    who_cells,
)
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.format import count
from engram_tui.widgets.line_screen import LineScreen

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.store.activity_log import ActivityLine
    from engram_tui.widgets.line_list import Line

POLL_INTERVAL = 0.5  # seconds between checks for new events


class LiveScreen(LineScreen, JudgeScreen):
    """Follow what agents ask and get, and judge it."""

    SCREEN = "live"
    DEFAULT_CSS = """
    LiveScreen {
        & #about { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & #left { width: 5fr; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.events: deque[ActivityLine] = deque(maxlen=MAX_EVENTS)
        self.titles: dict[str, str] = {}
        self.person = ""  # the name of this clone's user
        self.last: int | None = None  # the number of the newest event; None: not read yet
        self.choice = 0  # the index of the filter in `CHOICES`
        self.unseen = 0  # events that came while the cursor did not follow

    def compose_above(self) -> Iterator[Widget]:
        """Yield the line that says what is shown, and whether the cursor follows."""
        yield Static("opening …", id="about", markup=False)

    def on_mount(self) -> None:
        """Poll for events while this screen is open."""
        self.poll()
        self.set_interval(POLL_INTERVAL, self.poll)

    # Conditions of the actions

    def follows(self) -> bool:
        """Return whether the cursor is on the newest line, and so moves on with new ones."""
        return self.line_list.cursor >= len(self.line_list.lines) - 1

    def can_follow(self) -> bool:
        """Return whether the cursor is not on the newest line."""
        return not self.follows()

    # Reading

    def poll(self) -> None:
        """Read new events, unless another screen is open."""
        if self.shell.current is self:
            since, known = self.last, dict(self.titles)
            self.ask_if_idle("live", lambda store: read_news(store, since, known), self._receive)

    def _receive(self, news: News) -> None:
        first, self.last = self.last is None, news.events[-1].number if news.events else self.last or 0
        if first:
            self.shell.note_shown(self)
        if not (first or news.events):
            return
        follows = first or self.follows()
        self.titles.update(news.titles)
        self.person = news.person
        self.events.extend(news.events)
        self.unseen = 0 if follows else self.unseen + len(news.events)
        self.show_error("")
        self._show(follow=follows)

    def store_changed(self) -> None:
        """Read the titles again: entries may have changed or been forgotten."""
        self.titles.clear()
        self.load_entry()
        ids = {entry_id for event in self.events for entry_id in ids_in(event)}
        self.ask("titles", lambda store: read_titles(store, ids), self._receive_titles)

    def _receive_titles(self, titles: dict[str, str]) -> None:
        self.titles.update(titles)
        self._show(follow=False)

    # Showing

    def _show(self, *, follow: bool) -> None:
        shown = [*filter(CHOICES[self.choice][1], self.events)]
        cells = who_cells(shown, self.person, self.app.size.width)
        lines = [
            line
            for event in shown
            for line in lines_of(event, self.titles, self.person, self.is_narrow, cells)
        ]
        self.line_list.set_placeholder(*self._placeholder_lines())
        self.line_list.show_lines(lines, keep=self.line_list.current_id)
        if follow:
            self.line_list.action_edge(True)
        self._show_state()
        self.refresh_bindings()

    def _placeholder_lines(self) -> tuple[str, ...]:
        if not self.store.store.settings.flag("recall.log"):
            return (
                "The activity log is turned off.",
                "",
                "engram config recall.log true --user",
                "    turns it on",
            )
        if self.choice:
            return (f"No {CHOICES[self.choice][0]} yet.", "", "f shows more.")
        return (
            "Nothing was asked here yet.",
            "",
            "What agents ask appears here, the newest at the bottom.",
            "engram connect claude-code",
            "    connects an agent",
            'engram query "why does the queue stop"',
            "    asks from the command line",
        )

    def _show_state(self) -> None:
        new = f"{count(self.unseen)} new below, G follows" if self.unseen else "G follows again"
        state = "following" if self.follows() else new
        self.query_one("#about", Static).update(
            safe_line(f"{CHOICES[self.choice][0]} · {state}   (f filters)")
        )

    def line_chosen(self) -> None:
        """Reset the count of new events once the cursor is on the newest line."""
        if self.follows():
            self.unseen = 0
        if self.last is not None:
            self._show_state()

    def redraw(self) -> None:
        """Redraw the columns for the new width."""
        if self.last is not None:
            self._show(follow=self.follows())

    def placeholder(self, line: Line | None) -> tuple[str, ...]:
        """Return the details of the event of a line."""
        events = (event for event in self.events if line is not None and str(event.number) == line.group)
        event = next(events, None)
        return details_of(event, self.titles, self.person) if event is not None else ()

    # Actions

    def action_live_only(self) -> None:
        """Filter by the next choice."""
        follows = self.follows()
        self.choice = (self.choice + 1) % len(CHOICES)
        self._show(follow=follows or not self.line_list.lines)

    def action_live_follow(self) -> None:
        """Go to the newest line."""
        self.line_list.action_edge(True)

    def action_move_by_event(self, by: int) -> None:
        """Go to the next event, or (-1) to the previous one."""
        lines, cursor = self.line_list.lines, self.line_list.cursor
        starts = [row for row, line in enumerate(lines) if line.id.endswith(":")]
        if by > 0:
            self.line_list.cursor = next((row for row in starts if row > cursor), len(lines) - 1)
        else:
            self.line_list.cursor = next((row for row in reversed(starts) if row < cursor), 0)
