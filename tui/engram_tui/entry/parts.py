"""The parts of the screen of one lore: its text, its facts, and lists whose lines can be opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from engram_tui.entry.format import table
from engram_tui.shell.sanitize import lines
from engram_tui.widgets.markdown_pane import MarkdownPane

if TYPE_CHECKING:
    from rich.text import Text
    from textual import events
    from textual.app import ComposeResult

PARTS = {"text": "Text", "facts": "Facts", "links": "Links", "versions": "History", "queries": "Queries"}


class LoreText(MarkdownPane):
    """The text."""

    def __init__(self, *, id: str, classes: str) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._shown = ""

    def compose(self) -> ComposeResult:
        """The plain text; the markdown comes when it is needed."""
        yield Static(id="plain", markup=False)

    def show(self, body: str, *, another: bool) -> None:
        """Show a text; `another` lore is read from its beginning."""
        if body != self._shown:
            self._shown = body
            self.put_body(lines(body))
        if another:
            self.scroll_home(animate=False)


class Facts(VerticalScroll, can_focus=True):
    """Names and values."""

    DEFAULT_CSS = "Facts > Static { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = MarkdownPane.BINDINGS

    def __init__(self, *, id: str, classes: str) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._rows: Sequence[tuple[str, str]] = ()

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(markup=False)

    def show(self, rows: Sequence[tuple[str, str]]) -> None:
        """Show these."""
        if rows != self._rows:
            self._rows = rows
            self._draw()

    def on_resize(self, _event: events.Resize) -> None:
        """Another width breaks lines elsewhere."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if width:
            self.query_one(Static).update(table(self._rows, width - 1))


class Said(Static):
    """A line that is drawn anew only where it says something else."""

    def __init__(self, text: str = "", *, id: str) -> None:  # noqa: A002
        super().__init__(text, id=id, markup=False)
        self._said: Text | str = text

    def say(self, text: Text | str) -> None:
        """Say this."""
        if text != self._said:
            self._said = text
            self.update(text)


class Lines(OptionList):
    """Lines of which each stands for something that enter opens."""

    DEFAULT_CSS = """
    Lines {
        height: 1fr; border: none; padding: 0; background: transparent; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
    }
    Lines:focus > .option-list--option-highlighted {
        background: $primary 40%; color: $foreground; text-style: bold;
    }
    Lines:nocolor > .option-list--option-highlighted { text-style: reverse; }
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

    def show(self, shown: Sequence[str], nothing: str) -> None:
        """Show these lines, the cursor where it was; `nothing` where there are none."""
        if self._shown == (wanted := list(shown) or [nothing]):
            return
        self._shown = wanted
        at = self.highlighted
        self.clear_options()
        self.add_options([Option(line) for line in shown] or [Option(nothing, disabled=True)])
        self.highlighted = min(at or 0, len(shown) - 1) if shown else None
