"""What a server says on standard error: single lines, and never one that it would have to wait for.

A client need not read standard error. Once its pipe is full, an ordinary write would stop the server for good.
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
    """Writes a record as one line if standard error takes it now; else it is lost."""

    def __init__(self, command: str) -> None:
        """`command` is the one whose process it is."""
        super().__init__()
        self._command = command

    def emit(self, record: logging.LogRecord) -> None:
        """Write it; trouble with standard error is nobody's concern."""
        try:
            line = self.format(record).encode("utf-8", "replace")[:_MOST_BYTES]
            if _is_ready():
                os.write(_STDERR, line + b"\n")
        except (OSError, ValueError):
            return

    def format(self, record: logging.LogRecord) -> str:
        """The message, and of an exception its kind and text; ENGRAM_TRACEBACK=1 shows where it was raised."""
        if os.environ.get(TRACEBACK_VARIABLE):
            return super().format(record)
        error = record.exc_info[1] if record.exc_info else None
        line = record.getMessage() + (f": {type(error).__name__}: {error}" if error else "")
        return f"engram {self._command}: " + " ".join(line.split())


def _is_ready() -> bool:
    """Whether a write would not wait; on Windows, where pipes cannot be asked, always."""
    return sys.platform == "win32" or bool(select.select([], [_STDERR], [], 0)[1])


def log_to_stderr(command: str = "mcp") -> None:
    """Log so, unless the program has set up logging itself; the SDK would set up coloured boxes."""
    if not logging.getLogger().handlers:
        logging.basicConfig(level=logging.WARNING, handlers=[LineHandler(command)])
