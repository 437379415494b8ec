"""Edit a text: in the user's own editor while the app is suspended, or in the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from engram.domain.errors import UsageError
from engram.usecases.recording.editor import edit_text, own_editor
from engram_tui.shell.errors import describe_error
from engram_tui.shell.prompts import confirm_leave
from engram_tui.shell.sanitize import safe_line, safe_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from engram_tui.shell.store_screen import StoreScreen


def edit(screen: StoreScreen, title: str, before: bytes, finish: Callable[[bytes | None], None]) -> None:
    """Open a text in an editor; `finish` gets the edited text, or None if nothing is to be saved."""
    if not own_editor():
        screen.app.push_screen(TextEditor(title, before.decode("utf-8", "replace")), finish)
        return
    try:
        with screen.app.suspend():
            after = edit_text(before)
    except (UsageError, OSError) as error:
        screen.show_error(describe_error(error))
        return
    finish(after)


class TextEditor(ModalScreen[bytes | None]):
    """Edits a text in the app; returns it as UTF-8, or None if nothing is to be saved."""

    DEFAULT_CSS = """
    TextEditor { align: center middle; }
    TextEditor > Vertical { width: 96%; height: 92%; border: round $primary; background: $surface; padding: 0 1; }
    TextEditor TextArea, TextEditor TextArea:focus { border: none; padding: 0; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", priority=True),
        Binding("escape", "leave", "close", priority=True),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, safe_lines(text)

    def compose(self) -> ComposeResult:
        """Yield the text in a box."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = safe_line(self._title), "ctrl+s saves · esc leaves"
            yield TextArea(self._text, soft_wrap=True)

    def on_mount(self) -> None:
        """Keep the text as the editor has it, to know later whether it was changed."""
        self._text = self.query_one(TextArea).text

    def action_save(self) -> None:
        """Return the text as it is now."""
        self.dismiss(self.query_one(TextArea).text.encode())

    def action_leave(self) -> None:
        """Leave without saving; ask first if the text was changed."""
        if self.query_one(TextArea).text == self._text:
            self.dismiss(None)
        else:
            confirm_leave(self)
