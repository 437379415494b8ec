"""The tags of a store, for completion.

Mutants that make no difference: the default limit.
"""

from __future__ import annotations

from pathlib import Path

from storekit import open_test_store

from engram.usecases.index.vocabulary import tags


def test_tags_are_completed_ignoring_case_most_frequent_first(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as engram:
        for number in range(4):
            engram.record(
                f"Case {number} of the broker", category="FACT", tags=["slow", "Sly"][: number % 2 + 1]
            )
        engram.record("The parser is quick", category="FACT", tags=["quick", "Sly"])
        assert tags(engram.store) == ["slow", "Sly", "quick"]
        assert tags(engram.store, "SL") == ["slow", "Sly"]
        assert tags(engram.store, "sl", 1) == ["slow"]
