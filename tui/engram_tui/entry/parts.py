"""The parts of the entry screen: its text and its facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.widgets import Static

from engram_tui.entry.format import fact_table
from engram_tui.shell.sanitize import safe_lines
from engram_tui.widgets.markdown_pane import MarkdownPane

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

PARTS = {"text": "Text", "facts": "Facts", "links": "Links", "versions": "History", "queries": "Queries"}


class EntryText(MarkdownPane):
    """The text."""

    def __init__(self, *, id: str, classes: str) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._shown = ""

    def compose(self) -> ComposeResult:
        """Yield the widget that shows it."""
        yield Static(id="plain", markup=False)

    def show(self, body: str, *, from_top: bool) -> None:
        """Show a text; scroll to its beginning if `from_top`."""
        if body != self._shown:
            self._shown = body
            self.show_body(safe_lines(body))
        if from_top:
            self.scroll_home(animate=False)


class Facts(VerticalScroll, can_focus=True):
    """Names and values."""

    DEFAULT_CSS = "Facts > Static { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = MarkdownPane.BINDINGS

    def __init__(self, *, id: str, classes: str) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._rows: Sequence[tuple[str, str]] = ()

    def compose(self) -> ComposeResult:
        """Yield one text."""
        yield Static(markup=False)

    def show(self, rows: Sequence[tuple[str, str]]) -> None:
        """Show these names and values."""
        if rows != self._rows:
            self._rows = rows
            self._draw()

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap the lines for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if width:
            self.query_one(Static).update(fact_table(self._rows, width - 1))
