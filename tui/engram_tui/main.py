"""Opening the app on a store: the one function that a command line calls."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engram.domain.errors import UsageError

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"  # what textual-serve has an app draw with

if TYPE_CHECKING:
    from engram.app import Engram


START = 3.0  # seconds after which the start is certainly over


@contextmanager
def undisturbed_start() -> Iterator[None]:
    """Within this the first seconds go without looking for garbage, a sixth of the time to the first paint.

    What is there after them stays until the end, so no later look has to go through it.
    """
    gc.disable()
    settled = threading.Timer(START, _settle)
    settled.daemon = True
    settled.start()
    try:
        yield
    finally:
        settled.cancel()
        gc.enable()


def _settle() -> None:
    gc.freeze()
    gc.enable()


@contextmanager
def first_run(*, chosen: bool) -> Iterator[str | None]:
    """Where there is no store yet and none was `chosen`, ask which it is to be.

    The path to open ("": as without asking), or None where nothing is to be opened. A demonstration is gone afterwards.
    """
    from engram.usecases.opening.open_store import is_first_run

    if chosen or not is_first_run(os.getcwd()):
        yield ""
        return
    from engram_tui.first_run import FirstRun

    app = FirstRun(os.getcwd())
    app.run()
    try:
        yield app.return_value
    finally:
        app.clean()


def run(store: Engram) -> int:
    """Show the app until its user leaves; returns the exit code. The caller closes the store.

    Raises UsageError where there is no terminal to draw on, and no browser at the other end of the pipes.
    """
    in_terminal = all(
        stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    )
    if not (in_terminal or in_browser()):
        raise UsageError(
            "The app needs a terminal, and this is none.",
            "In scripts and pipes use `engram list` or `engram query`.",
        )
    from engram_tui.app import EngramApp
    from engram_tui.shell.terminal_watch import Lifeline

    app = EngramApp(store, plain="NO_COLOR" in os.environ)
    assert sys.__stdin__ is not None
    with Lifeline(app, sys.__stdin__.fileno() if in_terminal else None).held():
        app.run()
    return app.return_code or 0


def in_browser() -> bool:
    """Whether this process was started to draw for a browser."""
    return os.environ.get("TEXTUAL_DRIVER", "") == WEB_DRIVER
