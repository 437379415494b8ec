"""Ctrl-C while a process is being started: held back until whoever starts it can stop it, else it would be left running."""

from __future__ import annotations

import signal
import threading

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class HeldBack:
    """From its making to `release`, Ctrl-C is only noted. In other threads than the main one it does not arrive anyway."""

    def __init__(self) -> None:
        """Takes the place of the handler, if Python has one."""
        self._came = False
        self._handler = None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)

    def release(self) -> None:
        """Give Ctrl-C back to its handler, which then hears of one that came; harmless when done twice."""
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        if self._came:
            signal.raise_signal(signal.SIGINT)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
