"""Decay: however often, wherever and however late it runs, a month without use is taken off once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.confidence import Vote, derive, larger
from engram.domain.entry.decay import account_changes, balance, idle_months, used_months

START = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
DAYS = st.integers(0, 900).map(lambda days: START + timedelta(days=days))
Votes = dict[str, Vote]


def run(votes: Votes, uses: list[datetime], now: datetime, start: datetime = START) -> Votes:
    """What one machine makes of the accounts, knowing of these uses."""
    known = [use for use in uses if use <= now]
    idle = idle_months(start, known, now)
    changes = account_changes(votes, derive(700, votes, 0), idle, used_months(known))
    return {**votes, **changes}


def merged(one: Votes, other: Votes) -> Votes:
    """What merging two versions of the file makes of them."""
    names = one.keys() | other.keys()
    return {name: larger([side[name] for side in (one, other) if name in side]) for name in names}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-02-27T12:00", []),
        ("2026-02-28T12:00", ["idle.2026-02"]),
        ("2026-03-30T12:00", ["idle.2026-02"]),
        ("2026-03-31T12:00", ["idle.2026-02", "idle.2026-03"]),
        ("2025-12-01T00:00", []),
    ],
)
def test_a_month_is_full_on_the_day_of_the_month_of_the_last_use(now: str, expected: list[str]) -> None:
    assert idle_months(START, [], datetime.fromisoformat(now + "+00:00")) == expected


def test_a_month_with_a_use_is_not_idle_and_the_next_is_full_a_month_after_it() -> None:
    use = datetime(2026, 3, 10, tzinfo=UTC)
    assert idle_months(START, [use], datetime(2026, 4, 9, tzinfo=UTC)) == ["idle.2026-02"]
    assert idle_months(START, [use], datetime(2026, 4, 10, tzinfo=UTC)) == ["idle.2026-02", "idle.2026-04"]


@given(st.lists(DAYS, max_size=6), st.lists(DAYS, min_size=1, max_size=6), DAYS)
def test_to_run_it_often_is_to_run_it_once(
    uses: list[datetime], runs: list[datetime], last: datetime
) -> None:
    last = max([*runs, last])
    once = run({}, uses, last)
    votes: Votes = {}
    for now in [*sorted(runs), last, last]:
        votes = run(votes, uses, now)
    assert derive(700, votes, 0) == derive(700, once, 0)
    assert derive(700, votes, 0) >= 0


@given(
    st.lists(DAYS, max_size=4),
    st.lists(DAYS, max_size=4),
    st.lists(st.tuples(st.booleans(), DAYS), max_size=8),
)
def test_two_machines_that_know_of_other_uses_come_to_one_result_that_both_agree_with(
    mine: list[datetime], theirs: list[datetime], runs: list[tuple[bool, datetime]]
) -> None:
    end = datetime(2028, 10, 31, 23, 0, tzinfo=UTC)  # within a month they may be some days apart
    sides: list[Votes] = [{}, {}]
    for other, now in sorted(runs, key=lambda one: one[1]):
        sides[other] = run(sides[other], theirs if other else mine, now)
    votes = merged(*sides)
    assert votes == merged(*reversed(sides))
    for known in (mine, theirs, mine, theirs):
        votes = run(votes, known, end)
    together = run({}, [*mine, *theirs], end)
    assert derive(700, votes, 0) == derive(700, together, 0)
    months = [name for name, vote in votes.items() if vote.down > vote.up]
    assert all(0 < votes[name].down <= 10 for name in months)


@given(st.integers(0, 1300), st.integers(0, 40))
def test_a_hundredth_is_seen_to_go_each_month_down_to_zero_even_from_above_one(
    total: int, months: int
) -> None:
    idle = idle_months(START, [], START + timedelta(days=31 * months))
    changes = account_changes({}, total, idle, ())
    expected = max(0, min(total, 1000) - 10 * len(idle)) if idle else total
    assert total + balance({}, changes) == expected
