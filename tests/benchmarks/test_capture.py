"""Capture from labelled sessions: the promised precision and recall, and that the measure can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.parametrize("name", ["tuned", "unseen"])
def test_most_captured_entries_are_lessons_and_most_lessons_are_captured(name: str) -> None:
    from capture import endings, measure

    got = measure(endings(name))
    assert got.precision >= 0.85, got.wrong
    assert got.recall >= 0.60, got.missed


def test_the_set_has_enough_sessions_and_a_third_of_them_without_a_lesson() -> None:
    from capture import SETS, endings

    every = [ending for name in SETS for ending in endings(name)]
    assert len(every) >= 60
    assert sum(not ending.lessons for ending in every) >= len(every) / 3
    for ending in every:
        assert all(any(text in said for _, said in ending.turns) for text, _ in ending.lessons), ending.name


def test_false_positives_lower_precision_and_missed_lessons_lower_recall() -> None:
    from capture import Ending, measure

    chatter = Ending(
        "chatter", (("assistant", "The bug was caused by a stray `;` in `a.py`, of all things."),), ()
    )
    silent = Ending("silent", (("assistant", "Retries hide it."),), (("Retries hide it.", "FACT"),))
    got = measure([chatter, silent])
    assert (got.precision, got.recall) == (0.0, 0.0)
