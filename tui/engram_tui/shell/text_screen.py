"""A text to read and scroll, in a box over a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from engram_tui.shell.sanitize import safe_line, safe_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from textual.app import ComposeResult

    from engram_tui.shell.command_log import CommandLog


class TextScreen(ModalScreen[None]):
    """Shows a text, from its beginning or (`at_end`) its end. A plain string has to be sanitized."""

    DEFAULT_CSS = """
    TextScreen { align: center middle; }
    TextScreen > VerticalScroll { width: 96%; height: 92%; border: round $primary; background: $surface; padding: 0 1; }
    TextScreen Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "close"),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("ctrl+d,pagedown,space", "scroll(10)", show=False),
        Binding("ctrl+u,pageup", "scroll(-10)", show=False),
    ]

    def __init__(self, title: str, text: RenderableType, *, at_end: bool = False) -> None:
        super().__init__()
        self._title, self._text, self._at_end = title, text, at_end

    def compose(self) -> ComposeResult:
        """Yield the text in a box."""
        with VerticalScroll(can_focus=False) as box:
            box.border_title, box.border_subtitle = safe_line(self._title), "esc closes · j k scroll"
            yield Static(self._text, markup=False)

    def on_mount(self) -> None:
        """Scroll to the end if asked to."""
        if self._at_end:
            self.query_one(VerticalScroll).scroll_end(animate=False)

    def action_scroll(self, by: int) -> None:
        """Scroll down by this many lines (negative: up)."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False, force=True)


class DifferenceScreen(TextScreen):
    """Shows a difference as one text; the key that opened it closes it, too."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "dismiss", "close")]


class CommandLogScreen(TextScreen):
    """Shows the command log, the newest command at its end; the key that opened it closes it, too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("at", "dismiss", "close"),
        Binding("tab", "unfold", "every git command"),
    ]

    def __init__(self, log: CommandLog) -> None:
        self._tables = (_table(log.rows()), _table(log.rows(folded=False)))
        super().__init__("What was done, and the commands for it", self._tables[0], at_end=True)

    def on_mount(self) -> None:
        """Mention the key that shows more."""
        super().on_mount()
        self.query_one(VerticalScroll).border_subtitle = "esc closes · tab every git command · j k scroll"

    def action_unfold(self) -> None:
        """Show every git command, or fold them again."""
        self._tables = (self._tables[1], self._tables[0])
        self.query_one(Static).update(self._tables[0])
        self.query_one(VerticalScroll).scroll_end(animate=False)


def _table(rows: Sequence[tuple[str, str, str]]) -> RenderableType:
    """Lay the log out in columns, so that a long command wraps under its beginning."""
    from rich.table import Table
    from rich.text import Text

    if not any(clock for clock, _, _ in rows):
        return "Nothing was done yet. What you do appears here, with the command for it."
    table = Table.grid(padding=(0, 1))
    for row in rows:
        table.add_row(*(Text(safe_lines(part)) for part in row))
    return table
