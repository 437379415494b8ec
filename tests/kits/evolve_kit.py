"""The development set of recall as a store: its entries and questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.app import Engram

SET = Path(__file__).resolve().parents[2] / "benchmarks" / "recall_dev"
_FIELDS = ("category", "context", "tags", "files", "confidence")


def lines(name: str) -> list[dict[str, Any]]:
    """Read the objects of a file of the set."""
    return [json.loads(line) for line in (SET / name).read_text("utf-8").splitlines()]


def record_set(engram: Engram, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, str]:
    """Record the set's entries, or those with wanted keys; return their ids by key."""
    return {
        one["key"]: engram.record(
            f"{one['title']}\n\n{one['content']}", **{name: one[name] for name in _FIELDS}
        ).lore.id
        for one in lines("lore.jsonl")
        if wanted(one["key"])
    }
