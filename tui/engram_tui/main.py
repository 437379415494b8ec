"""Run the app from the command line: the first-run screen, then the app on a store."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engram.domain.errors import UsageError

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"  # the driver that textual-serve selects

if TYPE_CHECKING:
    from engram.app import Engram


SWITCH_INTERVAL = 0.0005  # seconds that a thread which reads the store may delay the one that draws
STARTUP = 3.0  # seconds after which the app has certainly started

DUMB_TERMINALS = ("dumb", "unknown")  # values of TERM for terminals that cannot move their cursor


@contextmanager
def delay_collection() -> Iterator[None]:
    """Disable garbage collection during start-up, where it takes a sixth of the time to the first paint.

    Objects made until then live as long as the app, so later collections skip them.
    """
    gc.disable()
    timer = threading.Timer(STARTUP, _freeze)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        gc.enable()


def _freeze() -> None:
    gc.freeze()
    gc.enable()


@contextmanager
def first_run(*, chosen: bool) -> Iterator[str | None]:
    """Ask which store to open if none exists yet and none was `chosen`.

    Yields its path ("" for the default), or None to open nothing. A demonstration is deleted afterwards.
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


def show_demonstration(folder: str) -> int:
    """Create a demonstration in this empty folder and open the app on its Inbox; returns the exit code."""
    import engram
    from engram_tui.first_run import make_demonstration

    with engram.open(make_demonstration(folder)) as store:
        return run(store)


def check_terminal() -> bool:
    """Return whether there is a terminal. Raises UsageError if neither it nor a browser can show the app."""
    in_terminal = all(
        stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    )
    if not (in_terminal or in_browser()):
        raise UsageError(
            "The app needs a terminal.", "In scripts and pipes use `engram list` or `engram query`."
        )
    if in_terminal and os.environ.get("TERM", "") in DUMB_TERMINALS and not in_browser():
        raise UsageError(
            f"The app cannot draw on this terminal: TERM is {os.environ.get('TERM') or 'not set'}.",
            "`engram list`, `engram query` and `engram review` do the same in lines; `engram tui --web` draws in a browser.",
        )
    return in_terminal


def run(store: Engram) -> int:
    """Run the app until the user leaves; returns the exit code. The caller closes the store.

    Raises UsageError if there is neither a terminal nor a browser to draw on.
    """
    in_terminal = check_terminal()
    from engram_tui.app import EngramApp
    from engram_tui.shell.terminal_watch import TerminalWatch

    sys.setswitchinterval(SWITCH_INTERVAL)
    app = EngramApp(store, plain="NO_COLOR" in os.environ)
    assert sys.__stdin__ is not None
    terminal = sys.__stdin__.fileno() if in_terminal else None
    with TerminalWatch(terminal, end=app.abandon, save=app.saved.save).active():
        app.run()
    return app.return_code or 0


def in_browser() -> bool:
    """Return whether this process was started to draw for a browser."""
    return os.environ.get("TEXTUAL_DRIVER", "") == WEB_DRIVER
