"""The command log: each change as a sentence and as a command, and the git commands that ran."""

from __future__ import annotations

import time
from collections import deque
from itertools import groupby
from typing import NamedTuple

from engram.domain.text.counted_nouns import counted
from engram_tui.shell.sanitize import safe_line

MAX_LINES = 500
MAX_LENGTH = 400  # characters of a line
SENTENCE, COMMAND, GIT = "sentence", "command", "git"
SIGNS = {SENTENCE: "●", COMMAND: "  $", GIT: ""}


class LoggedLine(NamedTuple):
    """A sentence or a command, when it ended (Unix seconds), its exit code, and how long it took in seconds."""

    kind: str
    at: float
    text: str
    code: int = 0
    seconds: float = 0.0


class CommandLog:
    """The most recent lines. Threads may add to it."""

    def __init__(self) -> None:
        self._lines: deque[LoggedLine] = deque(maxlen=MAX_LINES)

    def say(self, sentence: str) -> None:
        """Add a sentence about what was done."""
        self._lines.append(LoggedLine(SENTENCE, time.time(), sentence))

    def add(self, command: str) -> None:
        """Add the equivalent of an action on the command line."""
        self._lines.append(LoggedLine(COMMAND, time.time(), command))

    def add_git(self, arguments: tuple[str, ...], code: int, seconds: float) -> None:
        """Add a git command that ended."""
        self._lines.append(LoggedLine(GIT, time.time(), f"git {' '.join(arguments)}", code, seconds))

    def rows(self, *, folded: bool = True) -> list[tuple[str, str, str]]:
        """Return a time, a sign and a text for each line, newest last; consecutive repetitions are one row.

        If `folded`, git commands that succeeded are only counted.
        """

        def group_key(line: LoggedLine) -> tuple[str, str, int, bool]:
            quiet = folded and line.kind == GIT and line.code == 0
            return line.kind, "" if quiet else line.text, line.code, quiet

        found = []
        for (kind, text, code, quiet), group in groupby(list(self._lines), group_key):
            lines = [*group]
            seconds = sum(line.seconds for line in lines)
            what = counted(len(lines), "git command") if quiet else safe_line(text, MAX_LENGTH)
            times = f"  {len(lines)}×" if len(lines) > 1 and not quiet else ""
            duration = f"  {seconds * 1000:.0f} ms" if seconds else ""
            clock = "" if quiet else time.strftime("%H:%M:%S", time.localtime(lines[-1].at))
            found.append((clock, SIGNS[kind], f"{what}{times}{duration}{f'  → {code}' if code else ''}"))
        return found

    def text(self, *, folded: bool = True) -> str:
        """Return the rows as lines."""
        return "\n".join(f"{clock:8} {sign:<3} {text}" for clock, sign, text in self.rows(folded=folded))
