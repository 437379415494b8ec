"""A list of choices that one narrows by typing; it returns the one that is picked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from engram_tui.shell.sanitize import words

if TYPE_CHECKING:
    from textual.app import ComposeResult


class Choice(NamedTuple):
    """What can be picked: what is returned, how it is called, and what stands before and after that."""

    value: str
    title: str
    before: str = ""
    after: str = ""

    @property
    def line(self) -> str:
        """The choice as it is shown."""
        return words(
            f"{self.before:<9}{self.title:<18}  {self.after}" if self.after else f"{self.before}{self.title}"
        )


class Picker(ModalScreen[str | None]):
    """Returns the value of the choice that was picked, or None."""

    DEFAULT_CSS = """
    Picker { align: center middle; }
    Picker > Vertical {
        width: 76; max-width: 96%; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    Picker Input { background: transparent; padding: 0; margin: 0 0 1 0; }
    Picker OptionList {
        height: auto; max-height: 1fr; border: none; padding: 0; background: transparent;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    Picker:nocolor OptionList > .option-list--option-highlighted { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close"),
        Binding("enter", "pick", "run", priority=True),
        Binding("down,ctrl+n,ctrl+j", "move(1)", show=False, priority=True),
        Binding("up,ctrl+k", "move(-1)", show=False, priority=True),
    ]

    def __init__(
        self, title: str, choices: Sequence[Choice], *, hint: str = "type to find", own: bool = False
    ) -> None:
        """`own`: what was typed may be taken as well, where no choice fits."""
        super().__init__()
        self._title = title
        self._choices = choices
        self._hint = hint
        self._own = own

    def compose(self) -> ComposeResult:
        """A line to type into above the list."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = words(self._title), "enter picks · esc closes"
            yield Input(placeholder=self._hint, compact=True)
            yield OptionList(*self._options(""), markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the choices that hold every word typed, those that begin so first."""
        options = self.query_one(OptionList)
        options.clear_options().add_options(self._options(event.value))
        options.highlighted = 0 if options.option_count else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click picks too."""
        self.dismiss(event.option.id)

    def action_move(self, rows: int) -> None:
        """Move in the list while typing."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if rows > 0 else options.action_cursor_up()

    def action_pick(self) -> None:
        """Take what is highlighted."""
        # What was typed last may not have reached the list yet.
        typed = self.query_one(Input).value
        options = self.query_one(OptionList)
        fitting = self._options(typed)
        highlighted = options.highlighted_option
        ids = [option.id for option in fitting]
        chosen = highlighted.id if highlighted and highlighted.id in ids else next(iter(ids), None)
        if chosen is None and self._own and typed.strip():
            chosen = typed.strip()
        if chosen is not None:
            self.dismiss(chosen)

    def _options(self, wanted: str) -> list[Option]:
        typed = wanted.casefold().split()
        fitting = [
            choice for choice in self._choices if all(word in choice.line.casefold() for word in typed)
        ]
        start = wanted.casefold().strip()
        fitting.sort(key=lambda choice: _closeness(choice.title.casefold(), start))
        return [Option(choice.line, id=choice.value) for choice in fitting]


def _closeness(title: str, typed: str) -> int:
    """What is called exactly so comes first, then what begins so."""
    return 0 if not typed or title == typed else 1 if title.startswith(typed) else 2
