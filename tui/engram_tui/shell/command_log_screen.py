"""The commands that ran, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engram_tui.shell.sanitize import lines
from engram_tui.shell.text_screen import TextScreen

if TYPE_CHECKING:
    from engram_tui.shell.command_log import CommandLog


class CommandLogScreen(TextScreen):
    """Shows the log, the newest at its end; the key that opened it closes it, too."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("at", "dismiss", "close")]

    def __init__(self, log: CommandLog) -> None:
        super().__init__("Commands that ran", lines(log.written()), at_end=True)
