"""The app in a real terminal: a process of its own on a pseudo-terminal, driven by bytes."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from effort import sampled

import engram
from engram.domain.errors import UsageError
from engram_tui.main import run

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals that Python can open", allow_module_level=True)

from tests.tui.terminal_kit import LIMIT, Terminal

START = """
import sys, engram
from engram_tui.main import run
with engram.open({path!r}, session="t") as store:
    code = run(store)
sys.exit(code)
"""
COLOUR = re.compile(r"\x1b\[[0-9;:]*(?<![0-9])(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|38|48)[;:m]")


def test_browse_search_read_and_leave(path: str) -> None:
    with Terminal.of_code(START.format(path=path)) as terminal:
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
def test_each_byte_of_a_burst_goes_where_the_user_means_it(path: str) -> None:
    with Terminal.of_code(START.format(path=path)) as terminal:
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
    with Terminal.of_code(START.format(path=path), NO_COLOR="1") as terminal:
        terminal.shows("newest first", "▌")
        terminal.types("q")
        assert terminal.exit_code() == 0
    assert not COLOUR.search(terminal.raw)


def test_without_a_terminal_it_says_what_to_use_instead(path: str) -> None:
    with engram.open(path, session="t") as store, pytest.raises(UsageError, match="needs a terminal"):
        run(store)


@pytest.mark.slow
def test_the_app_ends_with_its_terminal_and_nothing_is_lost(path: str) -> None:
    with Terminal.of_code(START.format(path=path)) as terminal:
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
def test_a_signal_to_end_restores_the_screen(path: str, number: signal.Signals) -> None:
    with Terminal.of_code(START.format(path=path)) as terminal:
        terminal.shows("2 entries", "Money is stored")
        terminal.process.send_signal(number)
        assert terminal.exit_code() == 128 + number
    assert terminal.raw.rindex("\x1b[?1049l") > terminal.raw.rindex("\x1b[?1049h")


@pytest.mark.slow
def test_the_app_ends_when_its_parent_process_dies(path: str) -> None:
    wrapped = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {START.format(path=path)!r}])"
    with Terminal.of_code(wrapped) as terminal:
        terminal.shows("2 entries", "Money is stored")
        terminal.process.kill()
        terminal.process.wait()
        terminal.exit_code()  # until nobody has the terminal open any more
    assert "Traceback" not in terminal.shown


def test_a_terminal_that_cannot_draw_is_refused_in_a_line(path: str) -> None:
    code = f"import runpy, sys; sys.argv = ['engram', 'tui', '--store', {path!r}]; runpy.run_module('engram', run_name='__main__')"
    with Terminal.of_code(code, TERM="dumb") as terminal:
        assert terminal.exit_code() == 2
    assert "TERM is dumb" in terminal.shown
    assert "engram list" in terminal.shown
    assert "\x1b[?1049h" not in terminal.raw
