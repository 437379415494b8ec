"""Run a measured task in a process of its own: `python benchmarks/tasks.py TASK ROOT EFFORT` prints JSON.

So the memory and first-use costs of each task are its own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import generate
from changing import SETTLE_SECONDS, changes, settle
from measuring import cost_of, median, peak_mb, resident_mb
from scoring import percentile
from scratch_store import SESSION

import engram
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 1
WARM_UP = 50  # questions


class Effort(NamedTuple):
    """The number of repetitions of each part of the tasks."""

    queries: int
    records: int
    looks: int
    repeats: int
    settle_seconds: float


EFFORTS = {"whole": Effort(400, 200, 50, 7, SETTLE_SECONDS), "trial": Effort(10, 10, 3, 1, 0.0)}


def rebuild(root: str, _: Effort) -> dict[str, Any]:
    """Rebuild the index from nothing."""
    with engram.open(root, background=False, session=SESSION) as store:
        index = os.path.join(store.store.places.state, "index")
        shutil.rmtree(index, ignore_errors=True)
        spent = cost_of(lambda: refresh(store.store, rebuild="benchmark"))
        return {"cost": spent, "peak_mb": peak_mb(), "disk_mb": _size(index) / 1e6}


def freshness(root: str, effort: Effort) -> dict[str, Any]:
    """Check for changes when there are none: by folder times, by all files, and by inotify events."""
    with engram.open(root, background=False, session=SESSION) as store:
        settle(store, effort.settle_seconds)
        folders = [cost_of(lambda: refresh(store.store, thorough=False)) for _ in range(effort.looks)]
        sweep = [cost_of(store.refresh) for _ in range(effort.repeats)]
        for _ in range(3):
            store.query("what is told", keep=False)
        told = [cost_of(lambda: refresh(store.store, thorough=False)) for _ in range(effort.looks)]
    return {"folders": median(folders), "sweep": median(sweep), "told": median(told)}


def changed(root: str, effort: Effort) -> dict[str, Any]:
    """Measure every kind of change until the answer shows it."""
    return dict(changes(root, effort.repeats, settle_seconds=effort.settle_seconds))


def warm(root: str, effort: Effort) -> dict[str, Any]:
    """Query an open store with the defaults, so that queries are kept in the session and the retrieval log.

    Other questions come first, as in any long-running process, since the first dozens also embed words.
    """
    questions = generate.questions(effort.queries, SEED)
    with engram.open(root, background=False, session=SESSION) as store:
        settle(store, effort.settle_seconds)
        first = cost_of(lambda: store.query(questions[0]))
        for text in generate.questions(WARM_UP, SEED + 1):
            store.query(text)
            store.query(text, strategy="words")
        hybrid = [cost_of(lambda text=text: store.query(text)) for text in questions]  # type: ignore[misc]
        words = [cost_of(lambda text=text: store.query(text, strategy="words")) for text in questions]  # type: ignore[misc]
        memory = resident_mb()
    return {
        "first": first,
        "hybrid": median(hybrid), "hybrid_p99": percentile([cost.wall_ms for cost in hybrid], 0.99),
        "words": median(words), "words_p99": percentile([cost.wall_ms for cost in words], 0.99),
        "resident_mb": memory, "count": 2 * len(questions), "peak_mb": peak_mb(),
    }  # fmt: skip


def record(root: str, effort: Effort) -> dict[str, Any]:
    """Record into a dedicated store while commits run in the background; then make the commits that are left."""
    writer = generate.Writer(SEED + 2)
    entries = [writer.lore(int.from_bytes(os.urandom(6))) for _ in range(effort.records)]
    with engram.open(root, session=SESSION) as store:
        store.refresh()
        costs = [
            cost_of(lambda lore=lore: store.record(lore.content, category=lore.category, tags=lore.tags))  # type: ignore[misc]
            for lore in entries
        ]
        rest = cost_of(store.close)
    walls = [cost.wall_ms for cost in costs]
    return {
        "ack": median(costs), "p99": percentile(walls, 0.99), "max": max(walls), "rest": rest, "count": len(entries),
    }  # fmt: skip


def _size(folder: str) -> int:
    return sum(
        os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names
    )


TASKS: dict[str, Callable[[str, Effort], dict[str, Any]]] = {
    task.__name__: task for task in (rebuild, freshness, changed, warm, record)
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](sys.argv[2], EFFORTS[sys.argv[3]])))
