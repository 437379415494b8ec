"""Two texts side by side; differences are bold and underlined on the left, reversed on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.widgets.word_marks import mark_both

if TYPE_CHECKING:
    from textual.app import ComposeResult

OLDER, NEWER = "older", "newer"


class Side(NamedTuple):
    """A text and its heading."""

    heading: str
    text: str


class Compare(ModalScreen[str | None]):
    """Compares two texts; returns `older` or `newer` to show another pair, else None."""

    DEFAULT_CSS = """
    Compare { align: center middle; }
    Compare > Vertical { width: 98%; height: 94%; border: round $primary; background: $surface; }
    Compare Horizontal { height: 1fr; }
    Compare VerticalScroll { width: 1fr; height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    Compare #right { border-left: solid $primary 40%; }
    Compare Static { height: auto; }
    Compare .heading {
        height: auto; max-height: 2; padding: 0 1; width: 1fr; text-style: bold; background: $panel;
    }
    Compare .headings { height: auto; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "close"),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("ctrl+d,pagedown,space", "scroll(12)", show=False),
        Binding("ctrl+u,pageup", "scroll(-12)", show=False),
        Binding("g,home", "scroll(-100000)", show=False),
        Binding("G,end", "scroll(100000)", show=False),
        Binding("left,K", "other('older')", show=False),
        Binding("right,J", "other('newer')", show=False),
    ]

    def __init__(self, title: str, left: Side, right: Side, *, hint: str = "") -> None:
        super().__init__()
        self._title, self._sides, self._hint = title, (left, right), hint

    def compose(self) -> ComposeResult:
        """Yield two panes."""
        left, right = self._sides
        texts = tuple(Text(safe_lines(side.text)) for side in self._sides)
        if left.text and right.text:
            texts = mark_both(left.text, right.text, limit=None)
        same = left.text == right.text
        with Vertical() as box:
            box.border_title = safe_line(self._title)
            box.border_subtitle = f"esc closes{self._hint} · j k scroll"
            with Horizontal(classes="headings"):
                yield Static(safe_line(left.heading), classes="heading", markup=False)
                yield Static(
                    safe_line("nothing differs" if same else right.heading), classes="heading", markup=False
                )
            with Horizontal():
                for name, text in zip(("left", "right"), texts, strict=True):
                    with VerticalScroll(id=name):
                        yield Static(text, markup=False)

    def action_scroll(self, rows: int) -> None:
        """Scroll both panes."""
        for pane in self.query(VerticalScroll):
            pane.scroll_relative(y=rows, animate=False)

    def action_other(self, which: str) -> None:
        """Return which pair to show next, if there are more versions."""
        if self._hint:
            self.dismiss(which)
