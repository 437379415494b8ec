"""How far a transfer is: git's own progress, read from its error stream as it comes."""

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

    Tell = Callable[[str], None]  # hears for example `receiving objects 45 %`

_BLOCK = 4096
_LOOK_SECONDS = 0.1
_PERCENT = re.compile(rb"(?:remote: )?([A-Z][a-z]+(?: [a-z]+)*): +(\d+)% \(")
# What `--progress` adds to the error stream and is no error: counts, and sums at the end.
_CHATTER = re.compile(
    rb"(?:remote: )?(?:[A-Z][a-z]+(?: [a-z]+)*: +\d+(?:% \(|, done)|Total \d+ \(|Delta compression using |Cloning into ')"
)


def listen(process: subprocess.Popen[bytes], deadline: float, tell: Tell) -> tuple[bytes, bytes]:
    """What a process prints on its two streams, to their end; `tell` hears of the progress on the second meanwhile.

    While git says nothing new it hears the last again and again ("" before the first), so that what it raises ends a
    command that waits for a silent server, too. Raises subprocess.TimeoutExpired after `deadline` seconds.
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
            last = _tell_of(errors, tell, last)
            if reader.is_alive() and time.monotonic() >= end:
                # It is late, or a child of git's has the stream still open.
                raise subprocess.TimeoutExpired(process.args, deadline)
    _tell_of(errors, tell, last)
    process.wait(max(end - time.monotonic(), 0))
    return out.read, without_progress(errors.read)


def _tell_of(errors: _Reader, tell: Tell, last: str) -> str:
    """Tell all that is new, else the last again; what was told last."""
    if not errors.told:
        tell(last)
    while errors.told:
        last = errors.told.popleft()
        tell(last)
    return last


def without_progress(stderr: bytes) -> bytes:
    """The lines of an error stream that tell of no progress."""
    lines = stderr.replace(b"\r", b"\n").split(b"\n")
    return b"\n".join(line for line in lines if not _CHATTER.match(line))


class _Reader(threading.Thread):
    """Reads a stream to its end; `told` is the progress in it that nobody has heard of yet."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="engram-git", daemon=True)
        self.read = b""
        self.told: deque[str] = deque()
        self._stream = stream
        self.start()

    def run(self) -> None:
        try:
            while part := os.read(self._stream.fileno(), _BLOCK):
                self.read += part
                for what, percent in _PERCENT.findall(part):
                    self.told.append(f"{what.decode('ascii').lower()} {int(percent)} %")
        except (OSError, ValueError):  # closed: the process was stopped
            return
