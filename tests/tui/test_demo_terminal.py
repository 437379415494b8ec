"""The demonstration in a real terminal of 80x24: only keys that the footer shows are pressed."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals that Python can open", allow_module_level=True)

from tests.tui.terminal_kit import Terminal

COMMAND = (sys.executable, "-m", "engram", "demo")


@pytest.mark.slow
def test_a_newcomer_settles_a_dispute_a_proposal_and_a_duplicate_and_undoes_each() -> None:
    with Terminal(COMMAND) as terminal:

        def press(key: str, title: str) -> None:
            terminal.has(title, footer=True)
            terminal.types(key)

        terminal.has("7 wait", "● dispute", "proposal", "≈ duplicate")
        press("y", "y as proposed")
        terminal.has("6 wait", "u undoes it")
        terminal.types("u")
        terminal.has("7 wait", "Undone")
        press("y", "y as proposed")
        terminal.has("6 wait")
        press("\r", "enter open")
        press("y", "y accept")
        terminal.has("2 of 3 undecided")
        press("y", "y accept")
        terminal.has("1 of 3 undecided")
        press("x", "x reject")
        terminal.types("no\r")
        press("i", "i bring them in")
        terminal.has("2 entries come into the lore")
        terminal.types("y")
        terminal.has("40 entries", "5 wait", "u takes")
        terminal.types("u")
        terminal.has("39 entries", "5 wait", "Undone")
        terminal.types("/jitter\r")
        terminal.has("1 of 1")
        press("t", "t take newer")
        terminal.has("4 wait")
        terminal.types("u")
        terminal.has("5 wait", "≈ duplicate", "Undone")
        assert "Traceback" not in terminal.shown


def test_no_demonstration_is_made_if_the_app_cannot_draw() -> None:
    with Terminal(COMMAND, TERM="dumb") as terminal:
        assert terminal.exit_code() == 2
    assert "TERM is dumb" in terminal.shown
    assert "Making" not in terminal.shown
