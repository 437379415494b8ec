"""The commands that ran: what Engram did on somebody's behalf, and the git commands under it."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from engram_tui.shell.gate import lines, words

if TYPE_CHECKING:
    from textual.app import ComposeResult

KEPT = 500


class Ran(NamedTuple):
    """A command, when it ended (Unix seconds), its exit code and how long it took in seconds."""

    at: float
    command: str
    code: int
    seconds: float


class CommandLog:
    """The last commands; threads may add to it."""

    def __init__(self) -> None:
        self._ran: deque[Ran] = deque(maxlen=KEPT)

    def engram(self, command: str) -> None:
        """Note what an action is on the command line."""
        self._ran.append(Ran(time.time(), command, 0, 0.0))

    def git(self, arguments: tuple[str, ...], code: int, seconds: float) -> None:
        """Note a git command that ended."""
        self._ran.append(Ran(time.time(), f"  git {' '.join(arguments)}", code, seconds))

    def written(self) -> str:
        """All of it as text, the newest last."""
        return "\n".join(_line(ran) for ran in list(self._ran)) or "Nothing ran yet."


def _line(ran: Ran) -> str:
    ended = "" if ran.code == 0 else f"  → {ran.code}"
    took = f"  {ran.seconds * 1000:.0f} ms" if ran.seconds else ""
    return f"{time.strftime('%H:%M:%S', time.localtime(ran.at))}  {words(ran.command, 400)}{took}{ended}"


class CommandLogScreen(ModalScreen[None]):
    """Shows the log."""

    DEFAULT_CSS = """
    CommandLogScreen { align: center middle; }
    CommandLogScreen > Vertical { width: 90%; height: 80%; border: round $primary; background: $surface; padding: 0 1; }
    CommandLogScreen Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,at", "dismiss", "close"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def __init__(self, log: CommandLog) -> None:
        super().__init__()
        self._log = log

    def compose(self) -> ComposeResult:
        """A box with the text."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = "Commands that ran", "esc closes"
            with VerticalScroll():
                yield Static(lines(self._log.written()), markup=False)

    def on_mount(self) -> None:
        """The newest is what one looks for."""
        self.query_one(VerticalScroll).scroll_end(animate=False)

    def action_scroll(self, rows: int) -> None:
        """Scroll by keys."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)
