"""The search line; its keys act before the letters that follow them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.widgets import Input

from engram.domain.text.safe_text import safe_text
from engram_tui.shell.action import Action, make_bindings

if TYPE_CHECKING:
    from textual.binding import BindingType


MAX_LENGTH = 2000
TYPING_DELAY = 0.06  # seconds without a key before the search runs
# The keys while a search is typed; they come before any letter.
TYPING = (
    Action("keep_filter", "enter,tab", "to the results", "to the results", 1, target="FilterInput"),
    Action("clear_filter", "escape", "clear", "clear the search", 2, target="FilterInput"),
    Action("next_result", "down,ctrl+n", "next result", "the next result", 3, run="move(1)", target="FilterInput"),
    Action("previous_result", "up", "previous result", "the result before", 4, run="move(-1)", target="FilterInput"),
)  # fmt: skip


class FilterInput(Input):
    """A one-line input that passes moving and leaving on to the screen.

    Its own keys have priority and act at once, without messages, so that the keys of a burst such as `/retry⏎q`
    take effect in order.
    """

    DEFAULT_CSS = "FilterInput { width: 1fr; background: transparent; padding: 0; }"
    ACTIONS: ClassVar[tuple[Action, ...]] = TYPING
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(TYPING, priority=True)

    def __init__(
        self,
        *,
        leave: Callable[[bool], None],
        move: Callable[[int], None],
        id: str,  # noqa: A002
        placeholder: str = "type / to search",
    ) -> None:
        """`leave` gets whether the search was cleared, `move` the number of rows to move the cursor of the list."""
        super().__init__(
            placeholder=placeholder, compact=True, select_on_focus=False, max_length=MAX_LENGTH, id=id
        )
        self._leave = leave
        self._move = move

    def replace(self, text: str, start: int, end: int) -> None:
        """Sanitize every change of the line, pasted text too."""
        super().replace(safe_text(text), start, end)

    def action_keep_filter(self) -> None:
        """Go to the results."""
        self._leave(False)

    def action_clear_filter(self) -> None:
        """Clear the search."""
        self._leave(True)

    def action_move(self, rows: int) -> None:
        """Move the cursor of the list."""
        self._move(rows)
