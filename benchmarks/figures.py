"""Figures with their targets, and the report made from them."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measuring import Cost

_LIBRARIES = ("tantivy", "numpy", "usearch", "numkong", "tokenizers", "model2vec")

_INTRODUCTION = """\
Every figure here was measured by one command, `{command}`, on the machine below: generated engineering notes
(`benchmarks/generate.py`), real files, real git, the bundled model. Processor time (CPU) is user + system of all threads
and is what compares between machines; wall time also shows what else the machine was doing. Medians, unless a
percentile is named. A target that is not met is printed as missed, not left out.

"Searchable" is the whole way from the changed file to an answer that shows the change. "Whole process" starts
a Python interpreter; what a command leaves to its background process is not in its figure.
Recall quality is measured by `python benchmarks/recall.py SET.json`.
What of the lore reaches a model is measured by `python benchmarks/reach.py` ([reach.md](reach.md)).
"""


class Figure(NamedTuple):
    """A measurement: ms of CPU and wall time (None if it is no time), anything else as text, and its target."""

    name: str
    cpu_ms: float | None = None
    wall_ms: float | None = None
    more: str = ""
    target: str = ""
    met: bool | None = None


class Group(NamedTuple):
    """The figures of one store size, under a heading."""

    heading: str
    figures: list[Figure]


def timed(name: str, cost: Cost, more: str = "") -> Figure:
    """Return a figure without a target."""
    return Figure(name, cost[0], cost[1], more)


def against(figure: Figure, value: float, limit: float, unit: str) -> Figure:
    """Return the figure with its target: `value` at most `limit`."""
    return figure._replace(target=f"≤ {limit:g} {unit}", met=value <= limit)


def describe_machine() -> list[str]:
    """Describe the machine and the versions of libraries, one fact a line."""
    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return [
        f"{_processor()}, {os.cpu_count()} cores, load averages {load} (others may use the machine)",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()} ({sys.implementation.name})",
        libraries,
    ]


def report(groups: Sequence[Group], machine: Sequence[str], date: str, command: str) -> str:
    """Return the whole report as markdown."""
    lines = ["# Benchmarks", "", _INTRODUCTION.format(command=command), f"Measured {date}:", ""]
    lines += [f"- {fact}" for fact in machine]
    for group in groups:
        lines += [
            "",
            f"## {group.heading}",
            "",
            "| Measure | CPU ms | wall ms | more | target | |",
            "|---|---:|---:|---|---|---|",
        ]
        lines += [_row(figure) for figure in group.figures]
    judged = [figure.met for group in groups for figure in group.figures if figure.met is not None]
    lines += ["", f"Targets met: {sum(judged)} of {len(judged)}."]
    return "\n".join(lines) + "\n"


def _row(figure: Figure) -> str:
    verdict = "" if figure.met is None else ("met" if figure.met else "**missed**")
    cells = (
        figure.name,
        _number(figure.cpu_ms),
        _number(figure.wall_ms),
        figure.more,
        figure.target,
        verdict,
    )
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
