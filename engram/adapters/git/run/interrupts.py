"""Defer Ctrl-C while a process is being started, until it can be stopped; else it would be left running."""

from __future__ import annotations

import signal
import threading

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class DeferredInterrupt:
    """Ctrl-C is only recorded until `release`. Threads other than the main one do not receive it anyway."""

    def __init__(self) -> None:
        """Replace the handler, if Python has one."""
        self._came = False
        self._handler = None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)

    def release(self) -> None:
        """Restore the handler, and pass on a Ctrl-C that came meanwhile; harmless when called twice."""
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        if self._came:
            signal.raise_signal(signal.SIGINT)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
