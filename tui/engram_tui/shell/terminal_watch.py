"""Ends the app when nobody can see it any more: the terminal is gone, it was told to end, or its parent died.

Textual notices none of that by itself: it reads the end of input for ever, and waits for ever on a thread that could not
write. So a thread of its own looks, twice a second, and has the app end the usual way, which keeps what is to be
remembered. Where that does not come to an end (a thread is in the middle of a long question), the process ends without:
what was acknowledged is in the write journal.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from textual.driver import Driver

    from engram_tui.app import EngramApp

LOOK = 0.5  # seconds between looks
PATIENCE = 1.5  # seconds for the usual way to end
TOLD = 128  # an exit code of a program that a signal ended is this and its number


class Lifeline:
    """Whether the app still has somebody to talk to."""

    def __init__(self, app: EngramApp, terminal: int | None) -> None:
        """`terminal` is the file descriptor that keys come from; None: a pipe, whose other end is the parent's."""
        self._app, self._terminal = app, terminal
        self._parent = os.getppid()
        self._over = threading.Event()
        self._wake = threading.Event()
        self._code = TOLD + _HANGUP
        self._lost = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within this the app ends with its terminal. Call it in the main thread."""
        before = {number: signal.signal(number, self._told) for number in _SIGNALS}
        threading.Thread(target=self._watch, name="lifeline", daemon=True).start()
        try:
            yield
        finally:
            self._over.set()
            self._wake.set()
            if self._lost:
                _let_go()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told(self, number: int, _frame: object) -> None:
        self._code = TOLD + number
        self._wake.set()

    def _watch(self) -> None:
        while not self._wake.wait(LOOK):
            if os.getppid() != self._parent or not (self._terminal is None or os.isatty(self._terminal)):
                break
        if self._over.is_set():
            return
        self._lost = True
        self._app.abandon(self._code)
        if not self._over.wait(PATIENCE):
            self._app.remembered.keep()
            os._exit(self._code)


def _let_go() -> None:
    """Have what Python writes when it ends go nowhere: a terminal that is gone would make the exit code 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


class Output:
    """A terminal to write to that takes no offence at being gone."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, as far as anybody is there to read."""
        try:
            return self._file.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Write what waits."""
        try:
            self._file.flush()
        except OSError:
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def lasting(driver: type[Driver]) -> type[Driver]:
    """The same driver, whose writing thread outlives its terminal, and whose reading thread ends with it."""
    if driver.__name__ != "LinuxDriver":
        return driver

    class Lasting(driver):  # type: ignore[misc, valid-type]
        def __init__(self, *positional: Any, **named: Any) -> None:
            super().__init__(*positional, **named)
            setattr(self, "_file", Output(getattr(self, "_file")))  # noqa: B009, B010 - Textual's own, without a type

    return Lasting


def _signals() -> tuple[int, ...]:
    return tuple(getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name))


_SIGNALS = _signals()
_HANGUP = int(getattr(signal, "SIGHUP", 1))
