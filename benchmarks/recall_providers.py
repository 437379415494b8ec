"""Compare embedding providers: quality, honesty, processor time and memory on the same sets.

For each set, each provider has a store of its own, made by one process and queried by another, so that the memory is that of
queries alone.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import recall_report
import retrieval_set
from measuring import resident_mb
from recall_asking import Answers, Asked, Sizes, ask, sizes_of
from recall_variants import HYBRID, VARIANTS

import engram

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recall_report import Report
    from retrieval_set import RetrievalSet

_SETTINGS = {
    "bundled": {"provider": "bundled"},
    "mapped": {"provider": "neural", "questions": "mapped"},
    "read": {"provider": "neural", "questions": "read"},
    "none": {"provider": "none"},
}


class Cost(NamedTuple):
    """Processor time of a question (ms) and of embedding all entries (s), and memory of the process that asked (MB)."""

    question_ms: float
    entries_s: float
    memory_mb: float


class Compared(NamedTuple):
    """The report of a set, with providers as variants, and their costs by name."""

    report: Report
    costs: dict[str, Cost]


def settings_of(provider: str) -> dict[str, str]:
    """Return the settings of a provider, given by its name here or as `onnx=FOLDER`. Raises ValueError if it is unknown."""
    name, _, folder = provider.partition("=")
    if name == "onnx" and folder:
        return {"provider": "onnx", "path": os.path.abspath(folder)}
    if provider not in _SETTINGS:
        raise ValueError(f"no such provider: {provider}")
    return _SETTINGS[provider]


def compare(chosen: RetrievalSet | list[RetrievalSet], providers: Sequence[str]) -> Compared:
    """Ask a set, in one store or several, with each provider."""
    units = chosen if isinstance(chosen, list) else [chosen]
    asked: dict[str, list[Asked]] = {}
    costs = {}
    sizes: list[Sizes] = []
    for provider in providers:
        measured = [_measure(found, provider) for found in units]
        name = provider.partition("=")[0]
        sizes = sizes or [one for one, _, _ in measured]
        asked[name] = [one for _, one, _ in measured]
        each = [cost for _, _, cost in measured]
        costs[name] = Cost(
            sum(cost.question_ms for cost in each) / len(each),
            sum(cost.entries_s for cost in each),
            max(cost.memory_mb for cost in each),
        )
    parts = [
        (found, Answers(size, {name: each[number] for name, each in asked.items()}))
        for number, (found, size) in enumerate(zip(units, sizes, strict=True))
    ]
    if not isinstance(chosen, list):
        return Compared(recall_report.of_one(*parts[0]), costs)
    return Compared(recall_report.of_units(parts), costs)


def _measure(found: RetrievalSet, provider: str) -> tuple[Sizes, Asked, Cost]:
    folder = os.path.join(os.environ["XDG_CONFIG_HOME"], "engram")
    os.makedirs(folder, exist_ok=True)
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings_of(provider).items()]
    with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
        file.write("\n".join(["[embedding]", *lines, ""]))
    with tempfile.TemporaryDirectory(prefix="engram-recall-") as scratch:
        root = os.path.join(scratch, "store")
        sizes, answers, seconds = _in_a_process(make_store, root, found)
        asked, milliseconds, memory = _in_a_process(ask_in, root, found, answers)
    return sizes, asked, Cost(milliseconds, seconds, memory)


def _in_a_process(work: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def make_store(root: str, found: RetrievalSet) -> tuple[Sizes, dict[str, str], float]:
    """Make the store of a set and all vectors; return sizes, document id by entry id, and processor seconds."""
    answers = retrieval_set.store_documents(root, found)
    with engram.open(root, background=False) as store:
        began = time.process_time()
        store.refresh()
        store.make_vectors()
        return sizes_of(store, found), answers, time.process_time() - began


def ask_in(root: str, found: RetrievalSet, answers: Mapping[str, str]) -> tuple[Asked, float, float]:
    """Ask a set's questions; return the answers, processor ms per question, and memory of this process (MB)."""
    with engram.open(root, background=False) as store:
        store.refresh()
        store.query("warm up", keep=False)
        began = time.process_time()
        asked = ask(store, VARIANTS[HYBRID], answers, found)
        spent = time.process_time() - began
    return asked, 1000 * spent / max(1, len(asked.times)), resident_mb()
