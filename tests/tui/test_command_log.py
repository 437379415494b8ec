"""The command log: git commands are folded, and repetitions are one line."""

from __future__ import annotations

import re

from engram_tui.shell.command_log import CommandLog
from engram_tui.shell.text_screen import CommandLogScreen


def filled() -> CommandLog:
    log = CommandLog()
    for _ in range(3):
        log.add_git(("for-each-ref", "refs/remotes"), 0, 0.02)
    log.add_git(("status",), 0, 0.01)
    log.add_git(("push",), 1, 0.5)
    log.add("engram sync")
    return log


def without_clock(log: CommandLog, *, folded: bool) -> list[str]:
    return [re.sub(r"\d\d:\d\d:\d\d", "", line).strip() for line in log.text(folded=folded).splitlines()]


def test_git_commands_that_succeed_are_counted_and_failures_are_listed() -> None:
    assert without_clock(filled(), folded=True) == [
        "4 git commands  70 ms",
        "git push  500 ms  → 1",
        "$ engram sync",
    ]


def test_the_same_command_in_a_row_is_one_line() -> None:
    lines = without_clock(filled(), folded=False)
    assert lines[:2] == ["git for-each-ref refs/remotes  3×  60 ms", "git status  10 ms"]


async def test_a_long_command_wraps_under_its_beginning() -> None:
    from textual.app import App

    log = CommandLog()
    log.add_git(("log", *["--format=%H%x00%an"] * 6), 0, 0.01)
    app: App[None] = App()
    async with app.run_test(size=(60, 12)) as pilot:
        app.push_screen(CommandLogScreen(log))
        await pilot.press("tab")
        await pilot.pause()
        shown = ["".join(part.text for part in strip) for strip in app.screen._compositor.render_strips()]
    first, *others = [line for line in shown if "git log" in line or "--format" in line]
    assert others
    assert all(line.index("--format") == first.index("git log") for line in others)
