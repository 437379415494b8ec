"""The command log: what was done in a sentence, as a command, and the git commands under it."""

from __future__ import annotations

import time
from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from engram.domain.text.counted_nouns import counted
from engram_tui.shell.sanitize import safe_line

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT = 500  # lines
LONGEST = 400  # characters of one
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

    def rows(self, *, folded: bool = True) -> list[tuple[str, str, str]]:
        """Return a clock, a sign and a text for each, the newest last; the same command in a row only once.

        `folded`: git commands that went well only as their number.
        """
        quiet: Callable[[LoggedLine], bool] = lambda line: folded and line.kind == GIT and line.code == 0  # noqa: E731
        found = []
        for (kind, text, code, is_quiet), group in groupby(
            list(self._lines),
            lambda line: (line.kind, "" if quiet(line) else line.text, line.code, quiet(line)),
        ):
            lines = [*group]
            seconds = sum(line.seconds for line in lines)
            what = counted(len(lines), "git command") if is_quiet else safe_line(text, LONGEST)
            times = f"  {len(lines)}×" if len(lines) > 1 and not is_quiet else ""
            duration = f"  {seconds * 1000:.0f} ms" if seconds else ""
            clock = "" if is_quiet else time.strftime("%H:%M:%S", time.localtime(lines[-1].at))
            found.append((clock, SIGNS[kind], f"{what}{times}{duration}{f'  → {code}' if code else ''}"))
        return found

    def text(self, *, folded: bool = True) -> str:
        """Return the rows as lines."""
        return "\n".join(f"{clock:8} {sign:<3} {text}" for clock, sign, text in self.rows(folded=folded))
