"""Lines that can be opened, and a text that is redrawn only if it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

if TYPE_CHECKING:
    from rich.text import Text


class StatusText(Static):
    """A text that is redrawn only if it changed: each update costs a layout."""

    def __init__(self, text: str = "", *, id: str, classes: str = "") -> None:  # noqa: A002
        super().__init__(text, id=id, classes=classes, markup=False)
        self._shown: Text | str = text

    def show(self, text: Text | str) -> None:
        """Show this text."""
        if text != self._shown:
            self._shown = text
            self.update(text)


class OptionLines(OptionList):
    """Lines that enter opens."""

    DEFAULT_CSS = """
    OptionLines {
        height: 1fr; border: none; padding: 0; background: transparent; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
    }
    OptionLines:focus > .option-list--option-highlighted {
        background: $primary 40%; color: $foreground; text-style: bold;
    }
    OptionLines:nocolor > .option-list--option-highlighted { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id, markup=False, compact=True)
        self._shown: list[str] = []

    def show(self, lines: Sequence[str], placeholder: str) -> None:
        """Show these lines, the cursor where it was; if there are none, the line `placeholder`."""
        if self._shown == (shown := list(lines) or [placeholder]):
            return
        self._shown = shown
        index = self.highlighted
        self.clear_options()
        self.add_options([Option(line) for line in lines] or [Option(placeholder, disabled=True)])
        self.highlighted = min(index or 0, len(lines) - 1) if lines else None
