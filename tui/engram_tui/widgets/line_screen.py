"""A screen with a list of lines, and beside it (on narrow terminals in its place) the entry of the line under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal, Vertical

from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.entry_list import CURSOR_DELAY, EntryList
from engram_tui.widgets.line_list import Line, LineList
from engram_tui.widgets.preview import UNDER_CURSOR, Preview

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.usecases.lookup.listing import Shown


class LineScreen(ShellScreen):
    """A list of lines and an entry. Subclasses fill the list, and may put something above it in `compose_above`."""

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

    def compose_body(self) -> Iterator[Widget]:
        """Yield the list with what is above it, and the entry."""
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield from self.compose_above()
                yield LineList(id="lines")
            yield Preview(id="preview")

    def compose_above(self) -> Iterator[Widget]:
        """Yield the widgets above the list."""
        yield from ()

    def placeholder(self, line: Line | None) -> tuple[str, ...]:  # noqa: ARG002
        """Return a title and lines to show for a line without an entry."""
        return ()

    def line_chosen(self) -> None:
        """React to another line under the cursor."""

    def redraw(self) -> None:
        """Redraw what depends on the width of the terminal."""

    def change_note(self, line: Line) -> str:  # noqa: ARG002
        """Return a note to show above the entry of a line."""
        return ""

    @property
    def line_list(self) -> LineList:
        """The list."""
        return self.query_one(LineList)

    @property
    def preview(self) -> Preview:
        """The entry."""
        return self.query_one(Preview)

    def selected_ids(self) -> tuple[str, ...]:
        """Return the id of the entry under the cursor."""
        line = self.line_list.line
        return (line.entry_id,) if line is not None and line.entry_id else ()

    def can_read(self) -> bool:
        """Return whether there is something to open."""
        line = self.line_list.line
        return self.is_listing() and line is not None and bool(line.entry_id or self.placeholder(line))

    @on(EntryList.Highlighted)
    def moved(self) -> None:
        """Show the entry under the cursor once the cursor rests."""
        self.line_chosen()
        self.refresh_bindings()
        self.debounce("entry", CURSOR_DELAY, self.load_entry)

    @on(EntryList.Opened)
    def action_read(self) -> None:
        """Go into the entry: on a narrow terminal it takes the list's place."""
        if self.can_read():
            self.go_into(self.preview)
            self.load_entry()

    def load_entry(self) -> None:
        """Read and show the entry of the line under the cursor."""
        line = self.line_list.line
        if line is None or not line.entry_id:
            self.preview.show_message(*(self.placeholder(line) or ("", UNDER_CURSOR)))
        elif not self.is_narrow or self.is_reading():
            self.ask(
                "entry",
                lambda store: store.get(line.entry_id),
                partial(self._receive_entry, line),
                failed=partial(self._show_missing, line),
            )

    def _receive_entry(self, line: Line, shown: Shown) -> None:
        if self.line_list.line == line:
            self.preview.show(shown, self.now(), note=self.change_note(line))

    def _show_missing(self, line: Line, error: str) -> None:
        if self.line_list.line == line:
            self.preview.show_message("This entry no longer exists.", error)

    def on_resize(self) -> None:
        """Redraw for the new width, and show the entry on a terminal that became wide."""
        self.call_after_refresh(self.redraw)
        self.call_after_refresh(self.load_entry)
