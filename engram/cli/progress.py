"""Progress of long operations on standard error: a bar or the current step; nothing in pipes and with --json."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager

from engram.cli.output import DIM, Output, shorten
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_DELAY_SECONDS = 0.5


@contextmanager
def progress(output: Output, what: str) -> Iterator[Callable[[int, int], None]]:
    """Provide a function (done, total) that draws a progress bar, from half a second on."""
    if output.json or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    began = time.monotonic()
    shown = 0

    def step(done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // max(total, 1)
        if time.monotonic() - began > _DELAY_SECONDS and percent != shown:
            shown = percent
            _redraw(f"{what} {'━' * (percent // 4):<25} {done:,} of {total:,}")

    try:
        yield step
    finally:
        if shown:
            _redraw("\x1b[K")


@contextmanager
def steps(output: Output) -> Iterator[Callable[[str], None] | None]:
    """Provide a function that shows the current step in one line; None if there is no terminal."""
    if output.json or not sys.stderr.isatty():
        yield None
        return
    width = max(os.get_terminal_size(2).columns - 3, 20)

    def step(what: str) -> None:
        _redraw("\x1b[K" + output.styled(f"{shorten(safe_text(what), width)} …", DIM))

    try:
        yield step
    finally:
        _redraw("\x1b[K")


def _redraw(text: str) -> None:
    print(f"\r{text}", end="", file=sys.stderr, flush=True)
