"""The commands that ran, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from engram_tui.shell.gate import lines

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from engram_tui.shell.command_log import CommandLog


class CommandLogScreen(ModalScreen[None]):
    """Shows the log."""

    DEFAULT_CSS = """
    CommandLogScreen { align: center middle; }
    CommandLogScreen > Vertical { width: 90%; height: 80%; border: round $primary; background: $surface; padding: 0 1; }
    CommandLogScreen Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,at", "dismiss", "close"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def __init__(self, log: CommandLog) -> None:
        super().__init__()
        self._log = log

    def compose(self) -> ComposeResult:
        """A box with the text."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = "Commands that ran", "esc closes"
            with VerticalScroll():
                yield Static(lines(self._log.written()), markup=False)

    def on_mount(self) -> None:
        """The newest is what one looks for."""
        self.query_one(VerticalScroll).scroll_end(animate=False)

    def action_scroll(self, rows: int) -> None:
        """Scroll by keys."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)
