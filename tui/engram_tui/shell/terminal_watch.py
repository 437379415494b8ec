"""Ends the app when its terminal is gone, when a signal says so, or when its parent died.

Textual notices none of that by itself: it reads the end of input for ever, and waits for ever on a thread that could not
write. So a thread looks twice a second and has the app end the usual way, which saves its state. Where that does not come
to an end (a thread is in the middle of a long question), the process exits: what was acknowledged is in the write journal.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from textual.driver import Driver

POLL_INTERVAL = 0.5  # seconds
PATIENCE = 1.5  # seconds for the usual way to end
SIGNALLED = 128  # the exit code of a program that a signal ended is this plus the signal's number
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name))
_HANGUP = int(getattr(signal, "SIGHUP", 1))


class TerminalWatch:
    """Watches whether somebody still sees the app."""

    def __init__(self, terminal: int | None, *, end: Callable[[int], None], save: Callable[[], None]) -> None:
        """`terminal` is the file descriptor that keys come from; None: a pipe, whose other end is the parent's.

        `end` ends the app with an exit code, `save` saves its state; both are called from a thread.
        """
        self._terminal, self._end, self._save = terminal, end, save
        self._parent = os.getppid()
        self._over = threading.Event()
        self._wake = threading.Event()
        self._code = SIGNALLED + _HANGUP
        self._lost = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """Within this the app ends with its terminal. Call it in the main thread."""
        before = {number: signal.signal(number, self._handle_signal) for number in _SIGNALS}
        threading.Thread(target=self._watch, name="terminal-watch", daemon=True).start()
        try:
            yield
        finally:
            self._over.set()
            self._wake.set()
            if self._lost:
                _discard_output()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle_signal(self, number: int, _frame: object) -> None:
        self._code = SIGNALLED + number
        self._wake.set()

    def _watch(self) -> None:
        while not self._wake.wait(POLL_INTERVAL):
            if os.getppid() != self._parent or not (self._terminal is None or os.isatty(self._terminal)):
                break
        if self._over.is_set():
            return
        self._lost = True
        self._end(self._code)
        if not self._over.wait(PATIENCE):
            self._save()
            os._exit(self._code)


def _discard_output() -> None:
    """Discard what Python writes when it exits: a terminal that is gone would make the exit code 120."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    os.close(null)


class TolerantFile:
    """A terminal to write to that may be gone."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, as far as anybody is there to read."""
        try:
            return self._file.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Flush, as far as anybody is there to read."""
        try:
            self._file.flush()
        except OSError:
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def tolerant_driver(driver: type[Driver]) -> type[Driver]:
    """Return the same driver, whose writing thread outlives its terminal and whose reading thread ends with it."""
    if driver.__name__ != "LinuxDriver":
        return driver

    class TolerantDriver(driver):  # type: ignore[misc, valid-type]
        def __init__(self, *positional: Any, **named: Any) -> None:
            super().__init__(*positional, **named)
            setattr(self, "_file", TolerantFile(getattr(self, "_file")))  # noqa: B009, B010 - Textual's own, without a type

    return TolerantDriver
