"""The progress of a transfer, read from git's error stream as it comes."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from typing import IO

    Report = Callable[[str], None]  # receives for example `receiving objects 45 %`

_BLOCK = 4096
_LOOK_SECONDS = 0.1
_PERCENT = re.compile(rb"(?:remote: )?([A-Z][a-z]+(?: [a-z]+)*): +(\d+)% \(")
# Lines that `--progress` adds to the error stream: counts, and sums at the end.
_CHATTER = re.compile(
    rb"(?:remote: )?(?:[A-Z][a-z]+(?: [a-z]+)*: +\d+(?:% \(|, done)|Total \d+ \(|Delta compression using |Cloning into ')"
)


def listen(process: subprocess.Popen[bytes], deadline: float, report: Report) -> tuple[bytes, bytes]:
    """Return all that a process prints on its two streams; `report` receives the progress on the second meanwhile.

    While there is no news it receives the last report again ("" before the first), so that an exception it raises also
    ends a command that waits for a silent server. Raises subprocess.TimeoutExpired after `deadline` seconds.
    """
    import subprocess

    assert process.stdout is not None
    assert process.stderr is not None
    end = time.monotonic() + deadline
    out, errors = _Reader(process.stdout), _Reader(process.stderr)
    last = ""
    # Their ends first: to wait for a process with a time limit is to look 20 times a second.
    for reader in (out, errors):
        while reader.is_alive():
            reader.join(max(min(_LOOK_SECONDS, end - time.monotonic()), 0))
            last = _report(errors, report, last)
            if reader.is_alive() and time.monotonic() >= end:
                # It is late, or a child of git's has the stream still open.
                raise subprocess.TimeoutExpired(process.args, deadline)
    _report(errors, report, last)
    process.wait(max(end - time.monotonic(), 0))
    return out.read, without_progress(errors.read)


def _report(errors: _Reader, report: Report, last: str) -> str:
    """Report all that is new, else the last again, and return what was reported last."""
    if not errors.reports:
        report(last)
    while errors.reports:
        last = errors.reports.popleft()
        report(last)
    return last


def without_progress(stderr: bytes) -> bytes:
    """Return the lines of an error stream that are no progress."""
    lines = stderr.replace(b"\r", b"\n").split(b"\n")
    return b"\n".join(line for line in lines if not _CHATTER.match(line))


class _Reader(threading.Thread):
    """Reads a stream to its end; `reports` is the progress in it that was not reported yet."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="engram-git", daemon=True)
        self.read = b""
        self.reports: deque[str] = deque()
        self._stream = stream
        self.start()

    def run(self) -> None:
        try:
            while part := os.read(self._stream.fileno(), _BLOCK):
                self.read += part
                for what, percent in _PERCENT.findall(part):
                    self.reports.append(f"{what.decode('ascii').lower()} {int(percent)} %")
        except (OSError, ValueError):  # closed: the process was stopped
            return
