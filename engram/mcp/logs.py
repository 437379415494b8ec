"""Log to standard error in single lines, without ever blocking.

A client need not read standard error. Once its pipe is full, an ordinary write would block the server for good.
"""

from __future__ import annotations

import logging
import os
import select
import sys

_STDERR = 2
_MOST_BYTES = 4000  # a pipe that is ready takes this much at once (PIPE_BUF is 4096 on Linux)
TRACEBACK_VARIABLE = "ENGRAM_TRACEBACK"


class LineHandler(logging.Handler):
    """A handler that writes a record as one line, or drops it if standard error is not ready. `command` is the prefix."""

    def __init__(self, command: str) -> None:
        super().__init__()
        self._command = command

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record; errors of standard error are ignored."""
        try:
            line = self.format(record).encode("utf-8", "replace")[:_MOST_BYTES]
            if _is_ready():
                os.write(_STDERR, line + b"\n")
        except (OSError, ValueError):
            return

    def format(self, record: logging.LogRecord) -> str:
        """Return the message and the type and text of an exception; with ENGRAM_TRACEBACK=1, its traceback."""
        if os.environ.get(TRACEBACK_VARIABLE):
            return super().format(record)
        error = record.exc_info[1] if record.exc_info else None
        line = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        return f"engram {self._command}: " + " ".join(line.split())


def _is_ready() -> bool:
    """Return whether a write would not block; always True on Windows, where pipes cannot be polled."""
    return sys.platform == "win32" or bool(select.select([], [_STDERR], [], 0)[1])


def log_to_stderr(command: str = "mcp") -> None:
    """Set up logging, unless the program has done so. Otherwise the SDK would set up coloured boxes."""
    if not logging.getLogger().handlers:
        logging.basicConfig(level=logging.WARNING, handlers=[LineHandler(command)])
