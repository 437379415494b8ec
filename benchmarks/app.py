"""Measure the terminal app from outside: `python benchmarks/app.py [--sizes 1k,10k,100k] [--keep FOLDER] [--runs 5]`.

Starts `engram tui` on a pseudo-terminal of 120 columns and 40 lines: bytes in, bytes out. Stores are generated in a temporary
folder, or in that of `--keep`, to be reused. `--store FOLDER` measures a copy of an existing store.

Wall times exclude the time that the app's main thread waited for a processor, as reported by Linux; where it matters,
that time is printed beside them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import generate
from figures import Figure, Group, against, describe_machine, report
from run import SEED, compile_all, count_of
from scratch_store import PYTHON_PATH, isolate
from steady import bare_python
from terminal import Terminal

import engram

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FIRST_PAINT_MS = {1_000: 500, 10_000: 500, 100_000: 800}  # by number of entries
_QUESTION = "retry with jitter before the cache of the broker is full"
_KEYS_PER_SECOND = 30  # the repeat rate of a keyboard
_HELD_KEYS = 90
_MEMORY_MB = 150
_DETAIL_MS = 150
_INBOX_MS = 500
_INBOX_KEYS = 30
_KEY_MS = 50
# An entry has at most 4,000 characters, so no line is wider than 8,000 cells.
_HOSTILE = {
    "one line of 7,800 cells": "BODYWIDE\n\n" + "漢" * 3_900,
    "one word of 3,900 letters": "BODYLONG\n\n" + "x" * 3_900,
    "a table of 4,000 characters": "BODYTABLE\n\n| a | b | c |\n|---|---|---|\n" + "| o | t | h |\n" * 275,
    "500 quotes in one another": "BODYQUOTES\n\n" + ">" * 500 + " deep",
    "emphasis that never ends": "BODYSTARS\n\n" + "*a **b " * 550,
    "escapes, emoji, right to left": "BODYSIGNS\n\n"
    + "\x1b]0;t\x07 \x9b2J \u202e👩‍👩‍👧 漢字 العربية [@click=app.quit]x[/] " * 60,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1k,10k,100k", help="store sizes (default: %(default)s)")
    parser.add_argument("--store", help="measure a copy of this store instead")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the generated stores here and use them again")
    parser.add_argument("--runs", type=int, default=5, help="number of starts (default: %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as temporary:
        isolate(os.path.join(temporary, "home"))
        os.environ["PYTHONPATH"] = PYTHON_PATH
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        compile_all()
        bare = [bare_python(temporary)]
        groups = []
        for size in ["copy"] if options.store else options.sizes.split(","):
            groups += _measure_size(_prepare_store(options, temporary, size), options.runs)
            bare.append(bare_python(temporary))
        groups.append(_measure_hostile(os.path.join(temporary, "hostile")))
        machine = [
            *describe_machine(),
            f"bare Python {min(bare):.1f} to {max(bare):.1f} CPU-ms between the groups",
        ]
    print(report(groups, machine, time.strftime("%Y-%m-%d"), "python benchmarks/app.py"))
    return 0


def _prepare_store(options: argparse.Namespace, temporary: str, size: str) -> str:
    """Make or copy a store and build its index."""
    root = os.path.join(options.keep or temporary, f"store-{size}")
    if options.store:
        shutil.copytree(options.store, root)
    elif not os.path.isdir(root):
        generate.generate(root, count_of(size), SEED)
    with engram.open(root) as store:
        store.refresh()
    return root


def _open(root: str) -> Terminal:
    return Terminal([sys.executable, "-m", "engram", "tui", "--store", root], root)


def _measure_size(root: str, runs: int) -> list[Group]:
    with engram.open(root) as store:
        first = store.list(limit=_HELD_KEYS + 40)
        titles = [shown.lore.title for shown in first.lore]
        count = first.total
    limit = next((ms for size, ms in _FIRST_PAINT_MS.items() if count <= size * 1.5), 800)
    starts = [_measure_start(root, titles[0]) for _ in range(runs)]
    figures = _start_figures(starts, limit)
    with _open(root) as app:
        app.wait_for("? keys", _visible_start(titles[0]))
        app.wait_for("· hybrid")
        app.wait_until_quiet()
        whole, own = app.memory_mb()
        memory = f"{whole:.0f} MB, {own:.0f} without mapped files"
        figures.append(
            against(
                Figure("Memory before a search: the list, no model", more=memory), whole, _MEMORY_MB, "MB"
            )
        )
        figures += [_measure_held_key(app, titles), *_measure_inbox(app), *_measure_filtering(app)]
        whole, own = app.memory_mb()
        figures.append(
            Figure(
                "Memory after searches, with the model",
                more=f"{whole:.0f} MB, {own:.0f} without mapped files",
            )
        )
    return [Group(f"{count:,} entries", figures)]


class Stopwatch:
    """Measures CPU time of the app, wall time, and the wait for a processor, from its creation on."""

    def __init__(self, app: Terminal, since: float | None = None) -> None:
        self._app = app
        self._since = app.now() if since is None else since
        self._cpu, self._waited = (app.cpu_ms(), app.waited_ms()) if since is None else (0.0, 0.0)

    def stop(self, at: float) -> tuple[float, float, float]:
        """Return CPU ms, wall ms without the wait, and the wait in ms, until the time `at`."""
        cpu, waited = self._app.cpu_ms() - self._cpu, self._app.waited_ms() - self._waited
        wall = (at - self._since) * 1000
        return cpu, max(0.0, wall - waited), min(wall, waited)


def _measure_start(root: str, title: str) -> list[tuple[float, float, float]]:
    """Measure the time to the first complete frame, and to the first row in it."""
    with _open(root) as app:
        stopwatch = Stopwatch(app, since=0.0)
        frame = stopwatch.stop(app.wait_for("1 Browse", "? keys"))
        return [frame, stopwatch.stop(app.wait_for(_visible_start(title)))]


def _start_figures(starts: Sequence[list[tuple[float, float, float]]], limit: float) -> list[Figure]:
    found = []
    for number, name in enumerate(("First paint: the whole frame", "Rows shown")):
        cpu, wall, waited = (statistics.median(start[number][part] for start in starts) for part in range(3))
        figure = Figure(name, cpu, wall, f"and {waited:.0f} ms of waiting")
        found.append(against(figure, wall, limit, "ms") if number == 0 else figure)
    return found


def _measure_held_key(app: Terminal, titles: Sequence[str]) -> Figure:
    """Send `j` at the repeat rate of a keyboard, and measure how long after the last key its row is drawn."""
    cpu, due = app.cpu_ms(), app.now()
    for _ in range(_HELD_KEYS):
        stopwatch, sent = Stopwatch(app), app.send("j")
        due += 1 / _KEYS_PER_SECOND
        app.read_until(due)
    _, lag, waited = stopwatch.stop(app.wait_for(_visible_start(titles[_HELD_KEYS]), since=sent))
    app.wait_until_quiet()
    spent = (app.cpu_ms() - cpu) / _HELD_KEYS
    name = f"`j` held, {_HELD_KEYS} at {_KEYS_PER_SECOND}/s: lag of the last (CPU of one)"
    return against(
        Figure(name, spent, lag, f"and {waited:.0f} ms of waiting"), lag, 1000 / _KEYS_PER_SECOND * 2, "ms"
    )


def _measure_inbox(app: Terminal) -> list[Figure]:
    """Measure the time from opening the Inbox to its first item, and the time a key takes there.

    Every generated entry is stale. The first keys are sent while they are still being read.
    """
    stopwatch, sent = Stopwatch(app), app.send("2")
    cpu, opened, waited = stopwatch.stop(app.wait_for("worth × certainty", "stale", since=sent))
    figures = [
        against(
            Figure("Inbox: until its first items", cpu, opened, f"and {waited:.0f} ms of waiting"),
            opened,
            _INBOX_MS,
            "ms",
        )
    ]
    for name in ("at once", "at rest"):
        waits = []
        for _ in range(_INBOX_KEYS):
            stopwatch, sent = Stopwatch(app), app.send("j")
            waits.append(stopwatch.stop(app.wait_for_repaint(sent))[1])
            app.wait_until_quiet()  # so that the next repaint answers the next key
        middle = statistics.median(waits)
        figure = Figure(f"Inbox: `j` to repaint, {name}", more=_spread(waits))
        figures.append(against(figure, middle, _KEY_MS, "ms"))
    app.send("1")
    app.wait_until_quiet()
    return figures


def _measure_filtering(app: Terminal) -> list[Figure]:
    """Type a query letter by letter, while the app searches for what is typed so far."""
    app.send("/")
    app.wait_until_quiet()
    cpu, waits = app.cpu_ms(), []
    for letter in _QUESTION:
        stopwatch, sent = Stopwatch(app), app.send(letter)
        waits.append(stopwatch.stop(app.wait_for_repaint(sent)))
        app.wait_until_quiet()  # so that the next repaint answers the next key
    spent = (app.cpu_ms() - cpu) / len(waits)
    app.send("\x1b")
    app.wait_until_quiet()
    middle = statistics.median(wall for _, wall, _ in waits)
    repaint = Figure(
        "Key to repaint while filtering (CPU with its search)",
        spent,
        middle,
        _spread([wall for _, wall, _ in waits]),
    )
    return [against(repaint, middle, _KEY_MS, "ms")]


def _measure_hostile(root: str) -> Group:
    """Show each text that is meant to stall the app in the detail pane, and as a whole entry."""
    with engram.open(root) as store:
        written = [
            (name, store.record(f"Trial of {name}\n\n{text}", category="FACT"))
            for name, text in _HOSTILE.items()
        ]
        store.record("A start to move from.", category="FACT")
        assert all(done for _, done in written)
    figures = []
    with _open(root) as app:
        app.wait_for("? keys", "A start to move")
        app.wait_until_quiet()
        for name, text in reversed(_HOSTILE.items()):
            mark = text.split("\n")[0]
            cpu, pane, _ = _measure_key(app, "j", mark)
            figure = Figure(f"Pane: {name}", cpu, pane, "the cursor's rest of 50 ms included")
            figures.append(against(figure, pane, _DETAIL_MS, "ms"))
            cpu, whole, _ = _measure_key(app, "\r", mark)
            figures.append(Figure(f"Whole lore: {name}", cpu, whole))
            app.send("\x1b")
            app.wait_until_quiet()
    return Group("Content that is meant to stall", figures)


def _measure_key(app: Terminal, key: str, text: str) -> tuple[float, float, float]:
    stopwatch, sent = Stopwatch(app), app.send(key)
    found = stopwatch.stop(app.wait_for(text, since=sent))
    app.wait_until_quiet()
    return found


def _visible_start(title: str) -> str:
    """Return as much of a title as its column is sure to show."""
    return title[:14].rstrip()


def _spread(waits: Sequence[float]) -> str:
    ordered = sorted(waits)
    at: Callable[[float], float] = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))]  # noqa: E731
    return f"p50 {at(0.5):.0f}, p99 {at(0.99):.0f}, most {ordered[-1]:.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
