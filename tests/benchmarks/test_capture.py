"""What the rules of capture take from labelled endings: the bounds that the product promises, and that they can be missed."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.parametrize("name", ["tuned", "unseen"])
def test_most_of_what_is_captured_is_worth_keeping_and_most_lessons_are_found(name: str) -> None:
    from capture import endings, measure

    got = measure(endings(name))
    assert got.precision >= 0.85, got.wrong
    assert got.recall >= 0.60, got.missed


def test_the_set_has_enough_endings_and_a_third_of_them_hold_no_lesson() -> None:
    from capture import SETS, endings

    every = [ending for name in SETS for ending in endings(name)]
    assert len(every) >= 60
    assert sum(not ending.lessons for ending in every) >= len(every) / 3
    for ending in every:
        assert all(any(text in said for _, said in ending.turns) for text, _ in ending.lessons), ending.name


def test_what_is_no_lesson_counts_against_precision_and_what_is_missed_against_recall() -> None:
    from capture import Ending, measure

    chatter = Ending(
        "chatter", (("assistant", "The bug was caused by a stray `;` in `a.py`, of all things."),), ()
    )
    silent = Ending("silent", (("assistant", "Retries hide it."),), (("Retries hide it.", "FACT"),))
    got = measure([chatter, silent])
    assert (got.precision, got.recall) == (0.0, 0.0)
