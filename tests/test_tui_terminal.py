"""The app in a real terminal: a process of its own on a pseudo-terminal, driven by bytes."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import engram

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals that Python can open", allow_module_level=True)

import fcntl
import pty
import struct
import termios

START = "import sys, engram; from engram_tui.main import run; s = engram.open({path!r}, session='t'); c = run(s); s.close(); sys.exit(c)"
SEQUENCE = re.compile(
    r"\x1b\[[0-9;?<>=:]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>78]"
)
COLOUR = re.compile(r"\x1b\[[0-9;:]*(?<![0-9])(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|38|48)[;:m]")
LIMIT = 60.0  # seconds; reached only where something is broken


class Terminal:
    """A program on a pseudo-terminal of 80 columns and 24 lines."""

    def __init__(self, code: str, environment: dict[str, str]) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:  # the child: nothing but the program may run here
            try:
                os.execve(sys.executable, (sys.executable, "-c", code), environment)
            finally:
                os._exit(127)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.raw = ""

    @property
    def shown(self) -> str:
        """All text that was ever drawn, without the sequences that placed it."""
        return SEQUENCE.sub("", self.raw)

    def read_until(self, expected: Callable[[str], bool]) -> None:
        end = time.monotonic() + LIMIT
        while not expected(self.shown):
            assert time.monotonic() < end, self.shown[-3000:]
            if select.select([self.descriptor], [], [], 0.5)[0]:
                try:
                    self.raw += os.read(self.descriptor, 65_536).decode("utf-8", "replace")
                except OSError:  # Linux: the program closed its side
                    break

    def types(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def exit_code(self) -> int:
        self.read_until(
            lambda _: os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        )
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """A store of two lore."""
    with engram.open(tmp_path / "s", session="t") as store:
        store.record("Queue consumers must be idempotent.", category="PATTERN_OUTCOME")
        store.record("Money is stored as integer cents.", category="FACT")
        yield store.path


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **variables}


def test_browse_search_read_and_leave(path: str) -> None:
    terminal = Terminal(START.format(path=path), environment())
    terminal.read_until(lambda text: "newest first" in text and "Money is stored" in text)
    terminal.types("/idempotent")
    terminal.read_until(lambda text: " of 2 · " in text)
    terminal.types("\r\r")
    terminal.read_until(lambda text: "PATTERN_OUTCOME · trusted" in text)
    terminal.types("q")
    assert terminal.exit_code() == 0
    assert "Traceback" not in terminal.shown
    assert COLOUR.search(terminal.raw)
    assert terminal.raw.rindex("\x1b[?1049l") > terminal.raw.rindex("\x1b[?1049h")  # the screen is given back


def test_no_color_sends_no_colours_and_still_shows_the_cursor(path: str) -> None:
    terminal = Terminal(START.format(path=path), environment(NO_COLOR="1"))
    terminal.read_until(lambda text: "newest first" in text and "▌" in text)
    terminal.types("q")
    assert terminal.exit_code() == 0
    assert not COLOUR.search(terminal.raw)


def test_without_a_terminal_it_says_what_to_use_instead(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    from engram.domain.errors import UsageError
    from engram_tui.main import run

    with engram.open(path, session="t") as store, pytest.raises(UsageError, match="needs a terminal"):
        run(store)
