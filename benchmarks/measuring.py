"""Measure processor time, wall time and memory of this process and of whole child processes (POSIX)."""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KIB_PER_UNIT = 1 / 1024 if sys.platform == "darwin" else 1


class Cost(NamedTuple):
    """Processor time (user + system, all threads) and wall time, in ms."""

    cpu_ms: float
    wall_ms: float


class Child(NamedTuple):
    """A finished child process: its cost, peak memory in MB, exit code and output."""

    cost: Cost
    peak_mb: float
    code: int
    output: str
    errors: str


def cost_of(work: Callable[[], object]) -> Cost:
    """Measure a call in this process."""
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    work()
    return Cost((time.process_time_ns() - cpu) / 1e6, (time.perf_counter_ns() - wall) / 1e6)


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of processor and wall time, each by itself."""
    return Cost(statistics.median(c.cpu_ms for c in costs), statistics.median(c.wall_ms for c in costs))


def run(arguments: Sequence[str], folder: str, text: str = "") -> Child:
    """Run a program in `folder` with `text` as its input; processes that it leaves running are not counted."""
    with (
        tempfile.TemporaryFile() as input_file,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        input_file.write(text.encode())
        input_file.seek(0)
        began = time.perf_counter_ns()
        child = os.fork()
        if child == 0:
            _exec(arguments, folder, input_file.fileno(), output.fileno(), errors.fileno())
        _, status, used = os.wait4(child, 0)
        wall = (time.perf_counter_ns() - began) / 1e6
        output.seek(0)
        errors.seek(0)
        printed = output.read().decode(), errors.read().decode()
    cost = Cost((used.ru_utime + used.ru_stime) * 1e3, wall)
    return Child(cost, used.ru_maxrss * _KIB_PER_UNIT / 1024, os.waitstatus_to_exitcode(status), *printed)


def peak_mb() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB_PER_UNIT / 1024


def resident_mb() -> float:
    """Return the resident memory of this process in MB, mapped files included (its peak if that is unknown)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return peak_mb()


def _exec(arguments: Sequence[str], folder: str, input_file: int, output: int, errors: int) -> None:
    """Replace the forked child by the program, or end it with code 127."""
    try:
        os.chdir(folder)
        os.dup2(input_file, 0)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.execvpe(arguments[0], list(arguments), os.environ)
    finally:
        os._exit(127)
