"""All keys in one list that can be searched and runs what one picks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from engram_tui.keys import BROWSE, MOVES, Key

if TYPE_CHECKING:
    from textual.app import ComposeResult

ALL = (*BROWSE, *MOVES)


class HelpScreen(ModalScreen[Key | None]):
    """Returns the key that was picked, or None."""

    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        & > Vertical {
            width: 64; max-width: 90%; height: auto; max-height: 90%;
            border: round $primary; background: $surface; padding: 0 1;
        }
        & Input { background: transparent; padding: 0; margin: 0 0 1 0; }
        & OptionList { height: auto; max-height: 1fr; border: none; padding: 0; background: transparent; }
        &:nocolor OptionList > .option-list--option-highlighted { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", priority=True),
        Binding("enter", "pick", "run", priority=True),
        Binding("down,ctrl+n", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def compose(self) -> ComposeResult:
        """A line to type into above the list."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = "Keys", "enter runs it · esc closes"
            yield Input(placeholder="which key …", compact=True)
            yield OptionList(*_options(""), markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the keys whose line holds what was typed."""
        options = self.query_one(OptionList)
        options.clear_options().add_options(_options(event.value))
        options.highlighted = 0 if options.option_count else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click picks too."""
        self._pick(event.option)

    def action_move(self, rows: int) -> None:
        """Move in the list while typing."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if rows > 0 else options.action_cursor_up()

    def action_pick(self) -> None:
        """Run what is highlighted."""
        self._pick(self.query_one(OptionList).highlighted_option)

    def _pick(self, option: Option | None) -> None:
        self.dismiss(next((key for key in ALL if option and key.action == option.id), None))


def _options(wanted: str) -> list[Option]:
    words = wanted.casefold().split()
    lines = [(f"{key.written:<8} {key.meaning}", key) for key in ALL]
    return [
        Option(line, id=key.action) for line, key in lines if all(word in line.casefold() for word in words)
    ]
