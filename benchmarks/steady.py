"""Measure while the machine is quiet: compare with bare Python, and repeat slow measurements.

The same work takes up to twice the processor time while a shared machine is busy, so a figure says little without the
time that an idle Python took right before and after it.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING, TypeVar

from measuring import run

if TYPE_CHECKING:
    from collections.abc import Callable

Measured = TypeVar("Measured")

SLOWER = 1.4  # times the best time of bare Python; above it, the machine is busy
STARTS = 7
_CALIBRATIONS = 10
ATTEMPTS = 6
_WAIT_SECONDS = 4.0


def bare_python(folder: str, starts: int = STARTS) -> float:
    """Return the median CPU ms of a Python that does nothing, started in `folder`."""
    return statistics.median(run([sys.executable, "-c", "pass"], folder).cost.cpu_ms for _ in range(starts))


class Steady:
    """Repeats measurements made while the machine was slow, a few times; `summary` names those that stayed slow."""

    def __init__(
        self, bare: Callable[[], float], attempts: int = ATTEMPTS, wait_seconds: float = _WAIT_SECONDS
    ) -> None:
        """Calibrate with `bare`, which measures how slow the machine is now, in CPU ms.

        With one attempt, nothing is measured twice and calibration is short.
        """
        self._bare = bare
        self._attempts = attempts
        self._wait_seconds = wait_seconds
        self._best_ms = min(bare() for _ in range(_CALIBRATIONS if attempts > 1 else 1))
        self._repeated = 0
        self._slow: list[str] = []

    def __call__(self, name: str, measure: Callable[[], Measured]) -> Measured:
        """Return the result of `measure` at a quiet time, or at the quietest of several."""
        results: list[tuple[float, Measured]] = []
        before = self._measure_bare()
        while True:
            measured = measure()
            after = self._measure_bare()
            results.append((max(before, after), measured))
            if results[-1][0] <= self._best_ms * SLOWER or len(results) == self._attempts:
                break
            self._repeated += 1
            time.sleep(self._wait_seconds)  # for other programs to finish
            before = self._measure_bare()
        slowness, measured = min(results, key=lambda pair: pair[0])
        if slowness > self._best_ms * SLOWER:
            self._slow.append(f"{name} ({slowness:.0f} ms)")
        return measured

    def summary(self) -> str:
        """Return a line on how quiet the machine was."""
        slow = f"; never in a quiet moment: {', '.join(self._slow)}" if self._slow else ""
        return (
            f"bare Python at its fastest {self._best_ms:.1f} CPU-ms; what was measured while it took more than"
            f" {SLOWER:g} times as long was measured again, {self._repeated} times{slow}"
        )

    def _measure_bare(self) -> float:
        now = self._bare()
        self._best_ms = min(self._best_ms, now)
        return now
