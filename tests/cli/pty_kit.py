"""Run a command at a pseudo-terminal. Not for Windows."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from pathlib import Path

from apikit import variables

COMMAND = [sys.executable, "-m", "engram"]


def terminal(root: Path, *arguments: str, typed: bytes = b"", **more: str) -> tuple[int, str]:
    """Run a command at a terminal of its own; its exit code and everything the terminal showed."""
    child, screen = pty.fork()
    if child == 0:
        os.chdir(root)
        os.execve(sys.executable, [*COMMAND, *arguments], variables(TERM="xterm", **more))
    shown = b""
    if typed:
        os.write(screen, typed)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and select.select([screen], [], [], 30)[0]:
            part = os.read(screen, 65536)
            if not part:
                break
            shown += part
    except OSError:  # how Linux tells that the other side is closed
        pass
    _, status = os.waitpid(child, 0)
    os.close(screen)
    return os.waitstatus_to_exitcode(status), shown.decode()
