"""The commands that ran: what Engram did on somebody's behalf, and the git commands under it."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from engram_tui.shell.sanitize import words

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
