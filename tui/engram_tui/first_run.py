"""The first run: if there is no store yet, create one, join one, or look at a demonstration."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from engram.adapters.files.places import user_store
from engram_tui.shell.errors import EXPECTED, describe_error
from engram_tui.shell.frame import HIGH
from engram_tui.shell.prompts import Prompt
from engram_tui.shell.sanitize import SanitizeFilter, safe_line
from engram_tui.shell.store_watch import abbreviate_home
from engram_tui.shell.terminal_watch import tolerant_driver
from engram_tui.shell.themes import find_theme

if TYPE_CHECKING:
    from textual.driver import Driver

OWN, JOIN, DEMO = "own", "join", "demo"
CHOICES = {
    OWN: ("Start a store of my own", "empty; in markdown and git"),
    JOIN: ("Join one by its address", "your team's: https, ssh, folder"),
    DEMO: ("Look at a demonstration", "a made-up team; nothing is kept"),
}
HERE, EVERYWHERE = "here", "everywhere"
WELCOME = "What agents and people learn, kept where you work. There is no store here yet."


class FirstRun(App[str | None]):
    """Asks which store to open; returns its path, or None."""

    TITLE = "Engram"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False
    VERTICAL_BREAKPOINTS = [(0, "-low"), (HIGH, "-high")]  # noqa: RUF012
    CSS = """
    Screen { align: center middle; }
    #box { width: 92; max-width: 98%; height: auto; max-height: 98%; border: round $primary; padding: 1 2; }
    #box Static { height: auto; }
    OptionList {
        height: auto; border: none; padding: 0; margin: 1 0; background: transparent;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    OptionList:nocolor > .option-list--option-highlighted { text-style: reverse; }
    #status { color: $text-warning; }
    .-low #box { padding: 0 1; }
    .-low OptionList { margin: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "start_over", show=False),
        Binding("q,ctrl+q", "leave", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    def __init__(self, folder: str) -> None:
        """`folder` is the current folder."""
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self._filters.append(SanitizeFilter())
        self._folder = folder
        self._scratch = ""
        self._asks_where = False  # the second question, where to create the store, is open

    def get_driver_class(self) -> type[Driver]:
        """Return the driver of this platform, made to survive the loss of its terminal."""
        return tolerant_driver(super().get_driver_class())

    def compose(self) -> ComposeResult:
        """Yield the question, the choices, and a status line."""
        with Vertical(id="box") as box:
            box.border_title, box.border_subtitle = "Engram", "enter chooses · q leaves"
            yield Static(WELCOME, id="question", markup=False)
            yield OptionList(*_options(CHOICES), markup=False, compact=True)
            yield Static(id="status", markup=False)

    def on_mount(self) -> None:
        """Use the app's colours."""
        self._show_status("")
        if "NO_COLOR" not in os.environ:
            theme = find_theme("dark")
            self.register_theme(theme)
            self.theme = theme.name

    def clean(self) -> None:
        """Delete the demonstration."""
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    # The questions

    @on(OptionList.OptionSelected)
    def handle_choice(self, event: OptionList.OptionSelected) -> None:
        """Handle the answer to the first or the second question."""
        name = str(event.option.id)
        if name == OWN:
            self._ask_where()
        elif name == JOIN:
            prompt = Prompt("Join", hint="git@example.org:team/lore.git", explain="The address of the store:")
            self.push_screen(prompt, self._handle_address)
        elif name == DEMO:
            self._work("creating a demonstration …", self._demonstrate)
        else:
            target = user_store() if name == EVERYWHERE else self._folder
            self._work("creating it …", partial(_create, target))

    def _ask_where(self) -> None:
        self._asks_where = True
        here = f"{abbreviate_home(self._folder)}{_branch_note(self._folder)}"
        places = {
            EVERYWHERE: ("For everything I do", abbreviate_home(user_store())),
            HERE: ("For this folder only", here),
        }
        self._ask_question("Where should it be? esc goes back.", places)

    def _handle_address(self, url: str | None) -> None:
        if url and url.strip():
            name = (
                url.strip()
                .rstrip("/")
                .replace("\\", "/")
                .rpartition("/")[2]
                .rpartition(":")[2]
                .removesuffix(".git")
            )
            target = os.path.join(self._folder, name or "lore")
            prompt = Prompt("Join", target, explain="The folder for its clone:")
            self.push_screen(prompt, partial(self._handle_place, url.strip()))

    def _handle_place(self, url: str, path: str | None) -> None:
        if path and path.strip():
            self._work(f"joining {url} …", partial(_join, url, os.path.expanduser(path.strip())))

    def action_start_over(self) -> None:
        """Go back to the first question, or leave."""
        if not self._asks_where:
            self.exit(None)
            return
        self._asks_where = False
        self._ask_question(WELCOME, CHOICES)

    def action_leave(self) -> None:
        """Leave; nothing was created."""
        self.exit(None)

    def action_move(self, rows: int) -> None:
        """Move the highlight with `j` and `k`."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if rows > 0 else options.action_cursor_up()

    # Creating and joining

    def _work(self, status: str, make: Callable[[], str]) -> None:
        """Run `make` in a thread and leave with the path it returns."""
        self._show_status(status)
        self.query_one(OptionList).disabled = True

        def run() -> None:
            try:
                path = make()
            except EXPECTED as error:
                self.call_from_thread(self._handle_failure, describe_error(error))
            else:
                self.call_from_thread(self.exit, path)

        self.run_worker(run, thread=True, exit_on_error=False)

    def _handle_failure(self, line: str) -> None:
        options = self.query_one(OptionList)
        options.disabled = False
        options.focus()
        self._show_status(line)

    def _demonstrate(self) -> str:
        self._scratch = tempfile.mkdtemp(prefix="engram-demo-")
        return make_demonstration(self._scratch)

    def _ask_question(self, question: str, choices: dict[str, tuple[str, str]]) -> None:
        options = self.query_one(OptionList).clear_options()
        options.add_options(_options(choices))
        options.highlighted = 0
        self.query_one("#question", Static).update(question)
        self._show_status("")

    def _show_status(self, line: str) -> None:
        status = self.query_one("#status", Static)
        status.update(safe_line(line))
        status.display = bool(line)


def make_demonstration(folder: str) -> str:
    """Create the stores of a made-up team in this empty folder; returns the path of one, which opens on its Inbox."""
    import engram
    from engram.usecases.placement.team_demo import make_team
    from engram_tui.shell.saved_state import SavedState

    root = make_team(folder)
    with engram.open(root) as store:
        saved = SavedState(store)
        saved.set("screen", "inbox")
        saved.save()
        store.review()  # so that the heading counts all that waits from the start
    return root


def _options(choices: dict[str, tuple[str, str]]) -> list[Option]:
    return [
        Option(f"{safe_line(title)}\n    {safe_line(line)}", id=name)
        for name, (title, line) in choices.items()
    ]


def _branch_note(folder: str) -> str:
    from engram.adapters.git.run.layout import find_repository

    return " (a branch of its repository)" if find_repository(folder) is not None else ""


def _create(target: str) -> str:
    from engram.usecases.opening.init import init

    return init(target).root


def _join(url: str, path: str) -> str:
    from engram.usecases.placement.clone import clone

    return clone(url, path).root
