"""A program on a pseudo-terminal: bytes in, bytes out, and when each came (Linux, macOS)."""

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
    """What was waited for was never drawn."""


class Terminal:
    """A program on a terminal of so many columns and lines. Times are seconds since it was started."""

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
        """Seconds since the start."""
        return time.perf_counter() - self.began

    def types(self, text: str) -> float:
        """Send these bytes; when."""
        sent = self.now()
        os.write(self._screen, text.encode())
        return sent

    def repaint(self, since: float) -> float:
        """When the program first drew something after `since`."""
        return self._wait(lambda: next((at for at, _ in self._drawn if at > since), None), "anything")

    def shows(self, *texts: str, since: float = -1.0) -> float:
        """When the last of these texts had been drawn after `since`."""
        return self._wait(lambda: self._shown(texts, since), ", ".join(texts))

    def rest(self) -> float:
        """When the program last drew something, once it draws nothing any more."""
        while self._read(_QUIET_SECONDS):
            pass
        return self._drawn[-1][0] if self._drawn else 0.0

    def take(self, until: float) -> None:
        """Go on reading until that moment."""
        while (left := until - self.now()) > 0:
            self._read(left)

    def cpu_ms(self) -> float:
        """What all threads of the program have used so far (0 where the system does not tell)."""
        folder = f"/proc/{self._process.pid}/task"
        threads = os.listdir(folder) if os.path.isdir(folder) else []
        return sum(_scheduled(f"{folder}/{thread}")[0] for thread in threads)

    def waited_ms(self) -> float:
        """How long its main thread could have run, but others had the processor."""
        return _scheduled(f"/proc/{self._process.pid}/task/{self._process.pid}")[1]

    def memory_mb(self) -> tuple[float, float]:
        """Resident memory: all of it, and without the files that are mapped into it."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
            found = dict(line.split(":", 1) for line in file)
        whole, own = (int(found[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "RssAnon"))
        return whole, own

    def _shown(self, texts: Sequence[str], since: float) -> float | None:
        """When all of the texts were there; found by halving, for long outputs."""
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
        """Take what is drawn within these seconds; whether there was anything."""
        if not select.select([self._screen], [], [], seconds)[0]:
            return False
        try:
            drawn = os.read(self._screen, 1 << 16)
        except OSError:  # how Linux reports the end
            return False
        self._drawn.append((self.now(), drawn))
        return bool(drawn)


def _scheduled(thread: str) -> tuple[float, float]:
    """Milliseconds that a thread ran, and that it waited for a processor (0 where the system does not tell)."""
    try:
        with open(f"{thread}/schedstat", encoding="ascii") as file:
            ran, waited, _ = file.read().split()
    except OSError:
        return 0.0, 0.0
    return int(ran) / 1e6, int(waited) / 1e6
