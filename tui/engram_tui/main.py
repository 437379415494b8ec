"""Running the app, for the command line: the first run, then the app on a store."""

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


# Seconds for which a thread that reads the store may keep the one that draws waiting, each time that one waited itself.
SWITCH = 0.0005
START = 3.0  # seconds after which the app has certainly started

DUMB = ("dumb", "unknown")  # values of TERM that say that a terminal cannot move its cursor


@contextmanager
def delay_collection() -> Iterator[None]:
    """Within this no garbage is collected in the first seconds: it takes a sixth of the time to the first paint.

    What exists then stays until the end, so it is exempt from later collections.
    """
    gc.disable()
    timer = threading.Timer(START, _freeze)
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
    """Ask which store to open where there is none yet and none was `chosen`.

    Yields its path ("": the default one), or None to open nothing. A demonstration is deleted afterwards.
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
    """Make the lore of a team in this empty folder and open the app on its Inbox; returns the exit code."""
    import engram
    from engram_tui.first_run import make_demonstration

    with engram.open(make_demonstration(folder)) as store:
        return run(store)


def check_terminal() -> bool:
    """Return whether there is a terminal to draw on. Raises UsageError where there is neither one nor a browser."""
    in_terminal = all(
        stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    )
    if not (in_terminal or in_browser()):
        raise UsageError(
            "The app needs a terminal.", "In scripts and pipes use `engram list` or `engram query`."
        )
    if in_terminal and os.environ.get("TERM", "") in DUMB and not in_browser():
        raise UsageError(
            f"The app cannot draw on this terminal: TERM is {os.environ.get('TERM') or 'not set'}.",
            "`engram list`, `engram query` and `engram review` do the same in lines; `engram tui --web` draws in a browser.",
        )
    return in_terminal


def run(store: Engram) -> int:
    """Run the app until the user leaves; returns the exit code. The caller closes the store.

    Raises UsageError where there is neither a terminal nor a browser to draw on.
    """
    in_terminal = check_terminal()
    from engram_tui.app import EngramApp
    from engram_tui.shell.terminal_watch import TerminalWatch

    sys.setswitchinterval(SWITCH)
    app = EngramApp(store, plain="NO_COLOR" in os.environ)
    assert sys.__stdin__ is not None
    terminal = sys.__stdin__.fileno() if in_terminal else None
    with TerminalWatch(terminal, end=app.abandon, save=app.saved.save).active():
        app.run()
    return app.return_code or 0


def in_browser() -> bool:
    """Return whether this process was started to draw for a browser."""
    return os.environ.get("TEXTUAL_DRIVER", "") == WEB_DRIVER
