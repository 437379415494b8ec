"""A screen with a list of lines and the lore that the chosen one is about beside it (narrow: in its place)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal, Vertical

from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.entry_list import LoreList
from engram_tui.widgets.line_list import LineList
from engram_tui.widgets.preview import Preview

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram_tui.widgets.line_list import Line

CURSOR_REST = 0.05  # seconds on a line before its lore is shown


class LineScreen(ShellScreen):
    """Lines, and a lore; subclasses fill `compose_above` and the list."""

    AUTO_FOCUS = "LineList"
    DEFAULT_CSS = """
    LineScreen {
        & #panes { height: 1fr; }
        & #left { width: 3fr; }
        & LineList { height: 1fr; }
        & Preview { width: 2fr; border-left: solid $primary 40%; }
        & Preview:focus { border-left: solid $primary; }
        &.-narrow Preview { display: none; }
        &.-narrow.-reading Preview { display: block; width: 1fr; border-left: none; }
        &.-narrow.-reading #left { display: none; }
    }
    """

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self._resting: Timer | None = None

    def compose_body(self) -> Iterator[Widget]:
        """What stands above, the list, and the lore."""
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield from self.compose_above()
                yield LineList(id="lines")
            yield Preview(id="preview")

    def compose_above(self) -> Iterator[Widget]:
        """The widgets above the list."""
        yield from ()

    def instead_of_lore(self, line: Line | None) -> tuple[str, ...]:  # noqa: ARG002
        """What stands in the place of the lore where a line is about none: a title and a text."""
        return ()

    def line_chosen(self) -> None:
        """The cursor is on another line."""

    def news_of_lore(self, line: Line) -> str:  # noqa: ARG002
        """What is to be said beside the lore that a line is about."""
        return ""

    @property
    def line_list(self) -> LineList:
        """The list."""
        return self.query_one(LineList)

    @property
    def preview(self) -> Preview:
        """The lore."""
        return self.query_one(Preview)

    def chosen(self) -> tuple[str, ...]:
        """The lore of the line under the cursor."""
        line = self.line_list.line
        return (line.lore_id,) if line is not None and line.lore_id else ()

    def has_lore(self) -> bool:
        """Whether the line is about a lore."""
        return bool(self.chosen())

    def is_reading(self) -> bool:
        """Whether the lore has the focus."""
        return self.has_class("-reading")

    def can_read(self) -> bool:
        """Whether there is something to open."""
        line = self.line_list.line
        return not self.is_reading() and line is not None and bool(line.lore_id or self.instead_of_lore(line))

    @on(LoreList.Highlighted)
    def moved(self) -> None:
        """Show the lore under the cursor once the cursor rests."""
        self.line_chosen()
        self.refresh_bindings()
        if self._resting:
            self._resting.stop()
        self._resting = self.set_timer(CURSOR_REST, self.ask_lore)

    @on(LoreList.Opened)
    def action_read(self) -> None:
        """Go into the lore: on a narrow terminal it takes the list's place."""
        if self.can_read():
            self.add_class("-reading")
            self.ask_lore()
            self.set_focus(self.preview)
            self.refresh_bindings()

    def action_back(self) -> None:
        """From the lore to the list."""
        self.remove_class("-reading")
        self.set_focus(self.line_list)
        self.refresh_bindings()

    def ask_lore(self) -> None:
        """Show what the line under the cursor is about."""
        line = self.line_list.line
        if line is None or not line.lore_id:
            self.preview.say(*self.instead_of_lore(line))
        elif not self.is_narrow or self.is_reading():
            self.ask(
                "lore",
                lambda store: store.get(line.lore_id),
                partial(self._take_lore, line),
                failed=partial(self._no_lore, line),
            )

    def _take_lore(self, line: Line, shown: Shown) -> None:
        if self.line_list.line == line:
            self.preview.show(shown, self.now(), news=self.news_of_lore(line))

    def _no_lore(self, line: Line, trouble: str) -> None:
        if self.line_list.line == line:
            self.preview.say("This lore is not here any more.", trouble)

    def on_resize(self) -> None:
        """A terminal that became wide shows a lore it had not read."""
        self.call_after_refresh(self.ask_lore)
