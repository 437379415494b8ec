"""What is measured inside a process of its own: `python benchmarks/tasks.py TASK ROOT` prints figures as JSON.

Each task starts fresh, so that its memory and first-use costs are its own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import generate
from changing import changes, settle
from measuring import cost_of, median, peak_mb, resident_mb
from scoring import percentile
from scratch_store import SESSION

import engram
from engram.usecases.refresh import refresh

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 1
QUERIES = 400
RECORDS = 200
_REPEATS = 7


def rebuild(root: str) -> dict[str, Any]:
    """The index from nothing."""
    with engram.open(root, background=False, session=SESSION) as store:
        index = os.path.join(store.store.places.state, "index")
        shutil.rmtree(index, ignore_errors=True)
        spent = cost_of(lambda: refresh(store.store, rebuild="benchmark"))
        return {"cost": spent, "peak_mb": peak_mb(), "disk_mb": _size(index) / 1e6}


def freshness(root: str) -> dict[str, Any]:
    """Asking whether anything changed when nothing did: by folder times, by all files, and by being told."""
    with engram.open(root, background=False, session=SESSION) as store:
        settle(store)
        folders = [cost_of(lambda: refresh(store.store, thorough=False)) for _ in range(50)]
        sweep = [cost_of(store.refresh) for _ in range(_REPEATS)]
        for _ in range(3):
            store.query("what is told", keep=False)
        told = [cost_of(lambda: refresh(store.store, thorough=False)) for _ in range(50)]
    return {"folders": median(folders), "sweep": median(sweep), "told": median(told)}


def warm(root: str) -> dict[str, Any]:
    """Queries in an open store, as default callers ask them: kept in the session and the retrieval log."""
    questions = generate.questions(QUERIES, SEED)
    with engram.open(root, background=False, session=SESSION) as store:
        settle(store)
        first = cost_of(lambda: store.query(questions[0]))
        store.query(questions[0], strategy="words")
        hybrid = [cost_of(lambda text=text: store.query(text)) for text in questions]  # type: ignore[misc]
        words = [cost_of(lambda text=text: store.query(text, strategy="words")) for text in questions]  # type: ignore[misc]
        memory = resident_mb()
    return {
        "first": first,
        "hybrid": median(hybrid), "hybrid_p99": percentile([cost.wall_ms for cost in hybrid], 0.99),
        "words": median(words), "words_p99": percentile([cost.wall_ms for cost in words], 0.99),
        "resident_mb": memory, "peak_mb": peak_mb(),
    }  # fmt: skip


def record(root: str) -> dict[str, Any]:
    """Recording into a dedicated store, commits going on in the background; then the commits that were left."""
    writer = generate.Writer(SEED + 2)
    lores = [writer.lore(int.from_bytes(os.urandom(6))) for _ in range(RECORDS)]
    with engram.open(root, session=SESSION) as store:
        store.refresh()
        costs = [
            cost_of(lambda lore=lore: store.record(lore.content, category=lore.category, tags=lore.tags))  # type: ignore[misc]
            for lore in lores
        ]
        rest = cost_of(store.close)
    walls = [cost.wall_ms for cost in costs]
    return {
        "ack": median(costs), "p99": percentile(walls, 0.99), "max": max(walls), "rest": rest, "count": len(lores),
    }  # fmt: skip


def _size(folder: str) -> int:
    return sum(
        os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names
    )


TASKS: dict[str, Callable[[str], dict[str, Any]]] = {
    task.__name__: task for task in (rebuild, freshness, changes, warm, record)
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](sys.argv[2])))
