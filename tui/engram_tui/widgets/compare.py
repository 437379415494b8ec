"""Two texts side by side; what differs is bold and underlined on the left, reversed on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from engram.domain.text.word_diff import Piece, word_differences
from engram_tui.shell.sanitize import safe_line, safe_lines

if TYPE_CHECKING:
    from textual.app import ComposeResult

OLDER, NEWER = "older", "newer"


class Side(NamedTuple):
    """A text and its heading."""

    heading: str
    text: str


class Compare(ModalScreen[str | None]):
    """Returns `older` or `newer` to show another pair, else None."""

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
        pieces = (
            word_differences(left.text, right.text)
            if left.text and right.text
            else _without_marks(left, right)
        )
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
                with VerticalScroll(id="left"):
                    yield Static(_mark_pieces(pieces[0], "bold underline"), markup=False)
                with VerticalScroll(id="right"):
                    yield Static(_mark_pieces(pieces[1], "bold reverse"), markup=False)

    def action_scroll(self, rows: int) -> None:
        """Scroll both panes."""
        for pane in self.query(VerticalScroll):
            pane.scroll_relative(y=rows, animate=False)

    def action_other(self, which: str) -> None:
        """Show another pair, where there is a row of versions."""
        if self._hint:
            self.dismiss(which)


def _without_marks(left: Side, right: Side) -> tuple[list[Piece], list[Piece]]:
    """Return both texts without marks: where one is empty, there is nothing to compare with."""
    return [Piece(left.text, False)], [Piece(right.text, False)]


def _mark_pieces(pieces: Sequence[Piece], style: str) -> Text:
    text = Text()
    for piece in pieces:
        # A line end that differs would not be visible otherwise.
        shown = piece.text if not piece.differs or piece.text.strip("\n") else piece.text.replace("\n", "¶\n")
        text.append(safe_lines(shown), style if piece.differs else "")
    return text
