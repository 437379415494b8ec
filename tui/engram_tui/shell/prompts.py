"""Small dialogs over a screen: a line of text, and yes or no."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from engram_tui.shell.sanitize import safe_line, safe_lines

if TYPE_CHECKING:
    from textual.app import ComposeResult

T = TypeVar("T")
_BOX = """
    %(name)s { align: center middle; }
    %(name)s > Vertical {
        width: 70; max-width: 96%%; height: auto; border: round %(colour)s; background: $surface; padding: 0 1;
    }
    %(name)s Static { height: auto; }
    %(name)s Input { background: transparent; padding: 0; }
"""


class Prompt(ModalScreen[str | None]):
    """Asks for a line of text; returns it, or None."""

    DEFAULT_CSS = _BOX % {"name": "Prompt", "colour": "$primary"}
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close")]

    def __init__(self, title: str, value: str = "", *, hint: str = "", explain: str = "") -> None:
        super().__init__()
        self._title, self._value, self._hint, self._explain = title, value, hint, explain

    def compose(self) -> ComposeResult:
        """Yield the input, and what it is for."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = safe_line(self._title), "enter accepts · esc closes"
            if self._explain:
                yield Static(safe_lines(self._explain), markup=False)
            yield Input(
                safe_line(self._value), placeholder=safe_line(self._hint), compact=True, select_on_focus=False
            )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the line."""
        self.dismiss(event.value)


class Confirm(ModalScreen[bool | None]):
    """Asks before something that undo cannot restore; only y says yes."""

    DEFAULT_CSS = _BOX % {"name": "Confirm", "colour": "$warning"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape,q", "answer(False)", "no"),
    ]

    def __init__(self, title: str, question: str) -> None:
        super().__init__()
        self._title, self._question = title, question

    def compose(self) -> ComposeResult:
        """Yield the question and its keys."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = safe_line(self._title), "y yes · n or esc no"
            yield Static(safe_lines(self._question), markup=False)

    def action_answer(self, yes: bool) -> None:
        """Return the answer."""
        self.dismiss(yes)


def confirm_leave(editor: ModalScreen[T | None]) -> None:
    """Ask before leaving an editor with unsaved text."""

    def finish(yes: bool | None) -> None:
        if yes:
            editor.dismiss(None)

    editor.app.push_screen(Confirm("Leave", "What you typed is not saved anywhere. Leave anyway?"), finish)
