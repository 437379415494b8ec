"""The app in a real terminal: a process of its own on a pseudo-terminal, driven by bytes."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import pytest
from effort import sampled

import engram
from engram.domain.errors import UsageError
from engram_tui.main import run

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals that Python can open", allow_module_level=True)

import fcntl
import pty
import struct
import termios

START = """
import sys, engram
from engram_tui.main import run
with engram.open({path!r}, session="t") as store:
    code = run(store)
sys.exit(code)
"""
SEQUENCE = re.compile(
    r"\x1b\[[0-9;?<>=:]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>78]"
)
COLOUR = re.compile(r"\x1b\[[0-9;:]*(?<![0-9])(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|38|48)[;:m]")
LIMIT = 60.0  # seconds; reached only where something is broken


class Terminal:
    """A program on a pseudo-terminal of 80 columns and 24 lines."""

    def __init__(self, code: str, **variables: str) -> None:
        self.screen, inner = pty.openpty()
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **variables}
        command = (sys.executable, "-c", code)
        self.process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True
        )
        os.close(inner)
        self.raw = ""

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

    def types(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def exit_code(self) -> int:
        end = time.monotonic() + LIMIT
        while self.read():
            assert time.monotonic() < end, self.shown[-3000:]
        return self.process.wait(LIMIT)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store of two entries."""
    with engram.open(tmp_path / "s", session="t") as store:
        store.record("Queue consumers must be idempotent.", category="PATTERN_OUTCOME")
        store.record("Money is stored as integer cents.", category="FACT")
        return store.path


def test_browse_search_read_and_leave(path: str) -> None:
    with Terminal(START.format(path=path)) as terminal:
        terminal.shows("2 entries", "Money is stored")
        terminal.types("/idempotent")
        terminal.shows(" of 2 · ")
        terminal.types("\r\r")
        terminal.shows("PATTERN_OUTCOME · ▆", "History 1")
        terminal.types("q")
        assert terminal.exit_code() == 0
    assert "Traceback" not in terminal.shown
    assert COLOUR.search(terminal.raw)
    assert terminal.raw.rindex("\x1b[?1049l") > terminal.raw.rindex("\x1b[?1049h")  # the screen is given back


@pytest.mark.slow
def test_bytes_that_come_at_once_land_where_a_person_means_them(path: str) -> None:
    with Terminal(START.format(path=path)) as terminal:
        terminal.shows("2 entries", "Money is stored")
        terminal.types("/dhx")  # the letters of three actions that would change lore
        terminal.shows("of 2 · ")
        terminal.types("\x1b")
        terminal.types(
            "/money\rjk?quit\r"
        )  # the whole way out in one burst, through a list that is typed into
        assert terminal.exit_code() == 0
    with engram.open(path, session="t") as store:
        assert [operation.subject.split(":")[0] for operation in store.log()] == ["record", "record"]
    assert "Traceback" not in terminal.shown


@pytest.mark.slow
def test_no_color_sends_no_colours_and_still_shows_the_cursor(path: str) -> None:
    with Terminal(START.format(path=path), NO_COLOR="1") as terminal:
        terminal.shows("newest first", "▌")
        terminal.types("q")
        assert terminal.exit_code() == 0
    assert not COLOUR.search(terminal.raw)


def test_without_a_terminal_it_says_what_to_use_instead(path: str) -> None:
    with engram.open(path, session="t") as store, pytest.raises(UsageError, match="needs a terminal"):
        run(store)


@pytest.mark.slow
def test_a_terminal_that_goes_away_takes_the_app_with_it_and_nothing_is_lost(path: str) -> None:
    with Terminal(START.format(path=path)) as terminal:
        terminal.shows("2 entries", "Money is stored")
        terminal.types("sp")  # another order; a pin
        terminal.shows("is pinned")
        os.close(terminal.screen)
        terminal.screen = os.open(os.devnull, os.O_RDONLY)
        assert terminal.process.wait(LIMIT) == 129
    with engram.open(path, session="t") as store:
        assert [shown.lore.pinned for shown in store.list().lore].count(True) == 1
        assert "updated" in Path(store.store.places.state, "app.json").read_text("utf-8")


@sampled("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_to_end_gives_the_screen_back(path: str, number: signal.Signals) -> None:
    with Terminal(START.format(path=path)) as terminal:
        terminal.shows("2 entries", "Money is stored")
        terminal.process.send_signal(number)
        assert terminal.exit_code() == 128 + number
    assert terminal.raw.rindex("\x1b[?1049l") > terminal.raw.rindex("\x1b[?1049h")


@pytest.mark.slow
def test_the_death_of_the_parent_ends_it(path: str) -> None:
    wrapped = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {START.format(path=path)!r}])"
    with Terminal(wrapped) as terminal:
        terminal.shows("2 entries", "Money is stored")
        terminal.process.kill()
        terminal.process.wait()
        terminal.exit_code()  # until nobody has the terminal open any more
    assert "Traceback" not in terminal.shown


def test_a_terminal_that_cannot_draw_is_told_so_in_a_line(path: str) -> None:
    code = f"import runpy, sys; sys.argv = ['engram', 'tui', '--store', {path!r}]; runpy.run_module('engram', run_name='__main__')"
    with Terminal(code, TERM="dumb") as terminal:
        assert terminal.exit_code() == 2
    assert "TERM is dumb" in terminal.shown
    assert "engram list" in terminal.shown
    assert "\x1b[?1049h" not in terminal.raw
