"""Events by the moments that they fitted: one that fits more than one in twenty is common, counted from when it came."""

from __future__ import annotations

from pathlib import Path

from engram.adapters.state.database import StateDatabase
from engram.adapters.state.moment_counts import FEWEST, TOO_COMMON, Common, MomentCounts


def test_a_moment_that_more_than_one_in_twenty_of_enough_events_fit_is_common(tmp_path: Path) -> None:
    counts = MomentCounts(StateDatabase(str(tmp_path), lambda _: None))
    assert counts.common() == []
    often = FEWEST // TOO_COMMON + 1
    for number in range(FEWEST):
        counts.count(
            [*(["often"] if number < often else []), *(["rare"] if number < often - 1 else [])], is_new=True
        )
    assert counts.common() == [Common("often", often, FEWEST)]


def test_earlier_events_and_further_kinds_of_one_event_are_not_counted(
    tmp_path: Path,
) -> None:
    counts = MomentCounts(StateDatabase(str(tmp_path), lambda _: None))
    for _ in range(2 * FEWEST):
        counts.count([], is_new=True)
    for _ in range(FEWEST):
        counts.count(["late"], is_new=True)
        counts.count(["late"], is_new=False)
    assert counts.common() == [Common("late", 2 * FEWEST, FEWEST)]
