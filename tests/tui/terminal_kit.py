"""A program in a real terminal: a process of its own on a pseudo-terminal, driven by bytes. Not for Windows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from typing import Self

from rich.cells import cell_len

SEQUENCE = re.compile(
    r"\x1b\[[0-9;?<>=:]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>78]"
)
LIMIT = 60.0  # seconds; reached only where something is broken
COLUMNS, LINES = 80, 24
_PLACE = re.compile(r"\x1b\[(\d+);(\d+)H")
_CLEAR = "\x1b[2J"


class Terminal:
    """A program on a pseudo-terminal of 80 columns and 24 lines."""

    def __init__(self, command: Sequence[str], **variables: str) -> None:
        self.screen, inner = pty.openpty()
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **variables}
        self.process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True
        )
        os.close(inner)
        self.raw = ""

    @classmethod
    def of_code(cls, code: str, **variables: str) -> Self:
        """Run Python code."""
        return cls((sys.executable, "-c", code), **variables)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()  # does nothing to one that ended by itself
        self.process.wait()
        os.close(self.screen)

    @property
    def shown(self) -> str:
        """All text that was ever drawn, without the sequences that placed it."""
        return SEQUENCE.sub("", self.raw)

    def lines(self) -> list[str]:
        """Return the screen as it is now, drawn by an emulator that knows positions, text and new lines."""
        cells = [[" "] * COLUMNS for _ in range(LINES)]
        line = column = at = 0
        while at < len(self.raw):
            sequence = SEQUENCE.match(self.raw, at)
            letter = self.raw[at]
            if sequence is not None:
                at = sequence.end()
                if place := _PLACE.fullmatch(sequence[0]):
                    line, column = int(place[1]) - 1, int(place[2]) - 1
                elif sequence[0] == _CLEAR:
                    cells = [[" "] * COLUMNS for _ in range(LINES)]
                continue
            at += 1
            if letter == "\n":
                line, column = line + 1, 0
            elif letter >= " " and line < LINES:
                width = cell_len(letter)
                if width and column + width <= COLUMNS:
                    cells[line][column : column + width] = [letter, *[""] * (width - 1)]
                    column += width
        return ["".join(row).rstrip() for row in cells]

    def read(self) -> bool:
        """Take what the program draws next; False once it closed its side."""
        if not select.select([self.screen], [], [], 0.5)[0]:
            return True
        try:
            drawn = os.read(self.screen, 65_536)
        except OSError:  # how Linux reports the end
            return False
        self.raw += drawn.decode("utf-8", "replace")
        return bool(drawn)

    def shows(self, *texts: str) -> None:
        """Wait until all of these were drawn."""
        end = time.monotonic() + LIMIT
        while not all(text in self.shown for text in texts):
            assert self.read(), self.shown[-3000:]
            assert time.monotonic() < end, self.shown[-3000:]

    def has(self, *texts: str, footer: bool = False) -> str:
        """Wait until all of these stand on the screen, or on its last line; return the screen."""
        end = time.monotonic() + LIMIT
        while True:
            lines = self.lines()
            screen = "\n".join(lines)
            if all(text in (lines[-1] if footer else screen) for text in texts):
                return screen
            assert self.read(), screen
            assert time.monotonic() < end, screen

    def types(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def exit_code(self) -> int:
        end = time.monotonic() + LIMIT
        while self.read():
            assert time.monotonic() < end, self.shown[-3000:]
        return self.process.wait(LIMIT)
