"""End the app when its terminal is gone, on a signal, or when its parent process has died.

Textual notices none of these: it keeps reading the end of input, and waits forever for a thread that cannot write. So a
thread checks twice a second and ends the app the usual way, which saves its state. If that takes too long (a thread is in
the middle of a long question), the process exits: acknowledged writes are in the journal.
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
PATIENCE = 1.5  # seconds for the app to end the usual way
SIGNALLED = 128  # the exit code of a program that a signal ended is this plus the signal's number
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name))
_HANGUP = int(getattr(signal, "SIGHUP", 1))


class TerminalWatch:
    """Watches whether the app still has a terminal."""

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
        """End the app with its terminal while in this context. Call it in the main thread."""
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
    """Discard what Python writes at exit: without a terminal it would fail, and the exit code would be 120."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    os.close(null)


class TolerantFile:
    """A file for a terminal that may be gone: failed writes are ignored."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, or do nothing if the terminal is gone."""
        try:
            return self._file.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Flush, or do nothing if the terminal is gone."""
        try:
            self._file.flush()
        except OSError:
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def tolerant_driver(driver: type[Driver]) -> type[Driver]:
    """Return this driver, made to survive the loss of its terminal."""
    if driver.__name__ != "LinuxDriver":
        return driver

    class TolerantDriver(driver):  # type: ignore[misc, valid-type]
        def __init__(self, *positional: Any, **named: Any) -> None:
            super().__init__(*positional, **named)
            setattr(self, "_file", TolerantFile(getattr(self, "_file")))  # noqa: B009, B010 - Textual's own, without a type

    return TolerantDriver
