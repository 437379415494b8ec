"""A program on a pseudo-terminal: bytes in, bytes out, with their times (Linux, macOS)."""

from __future__ import annotations

import bisect
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SEQUENCE = re.compile(
    r"\x1b\[[0-9;?<>=:]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>78]"
)
_QUIET_SECONDS = 0.25
_LIMIT_SECONDS = 25.0


class TooLateError(RuntimeError):
    """The expected text was never drawn."""


class Terminal:
    """A program on a terminal of `size` (columns, lines). Times are seconds since its start."""

    def __init__(self, command: Sequence[str], folder: str, size: tuple[int, int] = (120, 40)) -> None:
        self._screen, inner = pty.openpty()
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        variables = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=variables,
            cwd=folder,
            start_new_session=True,
        )
        os.close(inner)
        self._drawn: list[tuple[float, bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._screen)

    def now(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.began

    def send(self, text: str) -> float:
        """Send keys and return the time."""
        sent = self.now()
        os.write(self._screen, text.encode())
        return sent

    def wait_for_repaint(self, since: float) -> float:
        """Wait for the first output after `since`, and return its time. Raises TooLateError."""
        return self._wait(lambda: next((at for at, _ in self._drawn if at > since), None), "anything")

    def wait_for(self, *texts: str, since: float = -1.0) -> float:
        """Wait until all of these texts have been drawn after `since`, and return that time. Raises TooLateError."""
        return self._wait(lambda: self._shown(texts, since), ", ".join(texts))

    def wait_until_quiet(self) -> float:
        """Wait until the program draws nothing more, and return the time of its last output."""
        while self._read(_QUIET_SECONDS):
            pass
        return self._drawn[-1][0] if self._drawn else 0.0

    def read_until(self, end: float) -> None:
        """Read output until the time `end`."""
        while (left := end - self.now()) > 0:
            self._read(left)

    def cpu_ms(self) -> float:
        """Return the CPU ms that all threads of the program have used (0 if the system does not report it)."""
        folder = f"/proc/{self._process.pid}/task"
        threads = os.listdir(folder) if os.path.isdir(folder) else []
        return sum(_schedule_times(f"{folder}/{thread}")[0] for thread in threads)

    def waited_ms(self) -> float:
        """Return how many ms the main thread was runnable but had no processor."""
        return _schedule_times(f"/proc/{self._process.pid}/task/{self._process.pid}")[1]

    def memory_mb(self) -> tuple[float, float]:
        """Return the resident memory in MB: all of it, and without mapped files."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
            found = dict(line.split(":", 1) for line in file)
        whole, own = (int(found[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "RssAnon"))
        return whole, own

    def _shown(self, texts: Sequence[str], since: float) -> float | None:
        """Return when all of the texts had been drawn, by bisection, as outputs may be long."""
        drawn = [(at, part) for at, part in self._drawn if at > since]

        def misses(parts: int) -> bool:
            raw = b"".join(part for _, part in drawn[:parts]).decode("utf-8", "replace")
            text = _SEQUENCE.sub("", raw)
            return not all(one in text for one in texts)

        if misses(len(drawn)):
            return None
        first = bisect.bisect_left(range(len(drawn)), x=True, key=lambda parts: not misses(parts + 1))
        return drawn[first][0]

    def _wait(self, found: Callable[[], float | None], what: str) -> float:
        end = time.perf_counter() + _LIMIT_SECONDS
        while (at := found()) is None:
            if time.perf_counter() > end or not self._alive():
                raise TooLateError(f"never drawn: {what}")
            self._read(0.5)
        return float(at)

    def _alive(self) -> bool:
        return self._process.poll() is None or bool(select.select([self._screen], [], [], 0)[0])

    def _read(self, seconds: float) -> bool:
        """Wait at most `seconds` for output, and return whether there was any."""
        if not select.select([self._screen], [], [], seconds)[0]:
            return False
        try:
            drawn = os.read(self._screen, 1 << 16)
        except OSError:  # how Linux reports the end
            return False
        self._drawn.append((self.now(), drawn))
        return bool(drawn)


def _schedule_times(thread: str) -> tuple[float, float]:
    """Return the ms that a thread ran, and that it waited for a processor (0 if the system does not report it)."""
    try:
        with open(f"{thread}/schedstat", encoding="ascii") as file:
            ran, waited, _ = file.read().split()
    except OSError:
        return 0.0, 0.0
    return int(ran) / 1e6, int(waited) / 1e6
