"""The command log: what Engram did for the person as commands, and the git commands under it."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from engram_tui.shell.sanitize import safe_line

KEPT = 500  # commands
LONGEST = 400  # characters of one


class LoggedCommand(NamedTuple):
    """A command, when it ended (Unix seconds), its exit code, and how long it took in seconds."""

    at: float
    command: str
    code: int
    seconds: float


class CommandLog:
    """The last commands; threads may add to it."""

    def __init__(self) -> None:
        self._commands: deque[LoggedCommand] = deque(maxlen=KEPT)

    def add(self, command: str) -> None:
        """Add what an action is on the command line."""
        self._commands.append(LoggedCommand(time.time(), command, 0, 0.0))

    def add_git(self, arguments: tuple[str, ...], code: int, seconds: float) -> None:
        """Add a git command that ended."""
        self._commands.append(LoggedCommand(time.time(), f"  git {' '.join(arguments)}", code, seconds))

    def text(self) -> str:
        """Return a line for each command, the newest last."""
        return "\n".join(_line(logged) for logged in list(self._commands)) or "Nothing ran yet."


def _line(logged: LoggedCommand) -> str:
    code = "" if logged.code == 0 else f"  → {logged.code}"
    duration = f"  {logged.seconds * 1000:.0f} ms" if logged.seconds else ""
    clock = time.strftime("%H:%M:%S", time.localtime(logged.at))
    return f"{clock}  {safe_line(logged.command, LONGEST)}{duration}{code}"
