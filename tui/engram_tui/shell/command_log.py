"""The command log: what was done in a sentence, as a command, and the git commands under it."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from engram_tui.shell.sanitize import safe_line

KEPT = 500  # lines
LONGEST = 400  # characters of one
SENTENCE, COMMAND, GIT = "sentence", "command", "git"


class LoggedLine(NamedTuple):
    """A sentence or a command, when it ended (Unix seconds), its exit code, and how long it took in seconds."""

    kind: str
    at: float
    text: str
    code: int = 0
    seconds: float = 0.0


class CommandLog:
    """The last lines; threads may add to it."""

    def __init__(self) -> None:
        self._lines: deque[LoggedLine] = deque(maxlen=KEPT)

    def say(self, sentence: str) -> None:
        """Add what was done, in a sentence."""
        self._lines.append(LoggedLine(SENTENCE, time.time(), sentence))

    def add(self, command: str) -> None:
        """Add what an action is on the command line."""
        self._lines.append(LoggedLine(COMMAND, time.time(), command))

    def add_git(self, arguments: tuple[str, ...], code: int, seconds: float) -> None:
        """Add a git command that ended."""
        self._lines.append(LoggedLine(GIT, time.time(), f"git {' '.join(arguments)}", code, seconds))

    def text(self, *, folded: bool = True) -> str:
        """Return a line for each, the newest last; `folded`: git commands that went well only as their number."""
        found, quiet = list[str](), list[LoggedLine]()
        for line in list(self._lines):
            if folded and line.kind == GIT and line.code == 0:
                quiet.append(line)
                continue
            found += _folded(quiet)
            quiet.clear()
            found.append(_line(line))
        return "\n".join([*found, *_folded(quiet)]) or "Nothing ran yet."


def _folded(lines: list[LoggedLine]) -> list[str]:
    if not lines:
        return []
    number, seconds = len(lines), sum(line.seconds for line in lines)
    what = "git command" if number == 1 else "git commands"
    return [f"{'':8}      {number} {what}, {seconds * 1000:.0f} ms"]


def _line(logged: LoggedLine) -> str:
    code = "" if logged.code == 0 else f"  → {logged.code}"
    duration = f"  {logged.seconds * 1000:.0f} ms" if logged.seconds else ""
    clock = time.strftime("%H:%M:%S", time.localtime(logged.at))
    sign = {SENTENCE: "● ", COMMAND: "  $ ", GIT: "      "}[logged.kind]
    return f"{clock}  {sign}{safe_line(logged.text, LONGEST)}{duration}{code}"
