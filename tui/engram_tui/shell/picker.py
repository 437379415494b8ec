"""A list of choices, filtered by typing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from engram_tui.shell.frame import HIGH
from engram_tui.shell.sanitize import safe_line

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from engram.domain.entry.categories import Categories


OTHER_LINES = 5  # of the box beside its list: border, input, a gap, and the end of a long line
MAX_TITLE = 28  # characters up to which a title widens its column, and two fifths of the terminal
MIN_WIDTH = 72  # cells of the box
BESIDE = 6  # cells of the box beside its lines: border, padding, scroll bar


class Choice(NamedTuple):
    """A choice: the value that is returned, its title, and the texts before and after it."""

    value: str
    title: str
    before: str = ""
    after: str = ""

    def line(self, before: int, title: int) -> str:
        """Format the choice; `before` and `title` are the widths of these columns in characters."""
        return safe_line(f"{self.before:<{before}}{self.title:<{title}}  {self.after}".rstrip())


def category_choices(categories: Categories) -> list[Choice]:
    """Return a choice for each category, with its type."""
    return [Choice(name, name.replace("_", " "), after=categories.type_of(name)) for name in categories.names]


class Picker(ModalScreen[str | None]):
    """Returns the value of the choice that was picked, or None."""

    DEFAULT_CSS = """
    Picker { align: center middle; }
    Picker > Vertical {
        max-width: 96%; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    Picker Input { background: transparent; padding: 0; margin: 0 0 1 0; }
    Picker.-low > Vertical { max-height: 100%; }
    Picker.-low Input { margin: 0; }
    Picker OptionList {
        height: auto; scrollbar-size-vertical: 1; border: none; padding: 0; background: transparent;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    Picker #whole { height: auto; display: none; color: $text-muted; }
    Picker:nocolor OptionList > .option-list--option-highlighted { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close"),
        Binding("enter", "pick", "run", priority=True),
        Binding("down,ctrl+n,ctrl+j", "move(1)", show=False, priority=True),
        Binding("up,ctrl+k", "move(-1)", show=False, priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], *, hint: str) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._hint = hint
        self._lines: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """Yield an input above the list."""
        # Columns as wide as their contents: a key and a name, or only a name.
        before = max((len(choice.before) for choice in self._choices), default=0)
        limit = min(MAX_TITLE, self.app.size.width * 2 // 5)
        titles = [
            len(choice.title) for choice in self._choices if choice.after and len(choice.title) <= limit
        ]
        columns = (before + 2 if before else 0), max(titles, default=0)
        self._lines = {choice.value: choice.line(*columns) for choice in self._choices}
        with Vertical() as box:
            box.border_title, box.border_subtitle = safe_line(self._title), "enter picks · esc closes"
            box.styles.width = max(MIN_WIDTH, BESIDE + max(map(cell_len, self._lines.values()), default=0))
            yield Input(placeholder=self._hint, compact=True)
            yield OptionList(*self._options(""), markup=False)
            yield Static(id="whole", markup=False)

    def on_resize(self) -> None:
        """Let the list use the height that the other lines of the box leave."""
        height = self.size.height
        room = (height * 9 // 10 if height >= HIGH else height) - OTHER_LINES
        self.query_one(OptionList).styles.max_height = max(3, room)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the list by what was typed."""
        options = self.query_one(OptionList)
        options.clear_options().add_options(self._options(event.value))
        options.highlighted = 0 if options.option_count else None

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show a line that does not fit into the list in full below it."""
        line = self._lines[str(event.option.id)]
        whole = self.query_one("#whole", Static)
        whole.display = cell_len(line) > event.option_list.scrollable_content_region.width
        whole.update(" ".join(line.split()))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Pick the choice that was clicked."""
        self.dismiss(event.option.id)

    def action_move(self, rows: int) -> None:
        """Move in the list while typing."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if rows > 0 else options.action_cursor_up()

    def action_pick(self) -> None:
        """Pick the highlighted choice."""
        # The list may not yet be filtered by what was typed last.
        ids = [option.id for option in self._options(self.query_one(Input).value)]
        highlighted = self.query_one(OptionList).highlighted_option
        chosen = highlighted.id if highlighted and highlighted.id in ids else next(iter(ids), None)
        if chosen is not None:
            self.dismiss(chosen)

    def _options(self, typed: str) -> list[Option]:
        """Return the choices that contain every word typed, those that begin with it first."""
        words = typed.casefold().split()
        fitting = [
            choice
            for choice in self._choices
            if all(word in self._lines[choice.value].casefold() for word in words)
        ]
        start = typed.casefold().strip()
        fitting.sort(key=lambda choice: _rank(choice.title.casefold(), start))
        return [Option(self._lines[choice.value], id=choice.value) for choice in fitting]


def _rank(title: str, typed: str) -> int:
    """Rank an exact title first, then one that begins with what was typed."""
    return 0 if not typed or title == typed else 1 if title.startswith(typed) else 2
