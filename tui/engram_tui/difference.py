"""A whole difference, over the screen it belongs to: to read and scroll, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from engram_tui.shell.gate import words

if TYPE_CHECKING:
    from rich.text import Text
    from textual.app import ComposeResult


class DifferenceScreen(ModalScreen[None]):
    """Shows a text with its marks."""

    DEFAULT_CSS = """
    DifferenceScreen { align: center middle; }
    DifferenceScreen > VerticalScroll { width: 96%; height: 92%; border: round $primary; background: $surface; padding: 0 1; }
    DifferenceScreen Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,d,enter", "dismiss", "close"),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("ctrl+d,pagedown,space", "scroll(10)", show=False),
        Binding("ctrl+u,pageup", "scroll(-10)", show=False),
    ]

    def __init__(self, title: str, text: Text) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """The text in a box."""
        with VerticalScroll(can_focus=False) as box:
            box.border_title, box.border_subtitle = words(self._title), "j k scroll · esc closes"
            yield Static(self._text, markup=False)

    def action_scroll(self, by: int) -> None:
        """Scroll by so many lines."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False, force=True)
