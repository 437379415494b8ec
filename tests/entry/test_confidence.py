"""Confidence: votes, the value derived from them, and its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.confidence import (
    FULL,
    HELPFUL,
    INCORRECT,
    KINDS,
    NOT_RELEVANT,
    Vote,
    derive,
    judge,
    larger,
    prior_for,
    state,
    two_decimals,
)

thousandths = st.integers(0, FULL)
votes = st.builds(Vote, st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 50))


@pytest.mark.parametrize(
    ("prior", "kind", "after", "count"),
    [
        (700, HELPFUL, 780, 1),
        (700, INCORRECT, 550, 0),
        (700, NOT_RELEVANT, 700, 0),
        (950, HELPFUL, 1000, 1),
        (1000, HELPFUL, 1000, 1),
        (100, INCORRECT, 0, 0),
        (0, INCORRECT, 0, 0),
    ],
)
def test_one_judgement(prior: int, kind: str, after: int, count: int) -> None:
    vote = judge(Vote(), prior, kind)
    assert (derive(prior, {"A": vote}, 0), vote.n) == (after, count)


def test_two_machines_at_once_add_up() -> None:
    one, other = judge(Vote(), 700, HELPFUL), judge(Vote(), 700, INCORRECT)
    assert derive(700, {"A": one, "B": other}, 0) == 630
    assert one.n + other.n == 1


def test_folding_equivalent_lore_adds_a_tenth_each() -> None:
    assert derive(700, {}, 1) == 800
    assert derive(700, {"A": Vote(80, 0, 1)}, 2) == 980


@given(thousandths, st.lists(st.sampled_from(KINDS), max_size=40))
def test_on_one_machine_any_history_is_the_plain_clamped_sum(prior: int, history: list[str]) -> None:
    expected, vote = prior, Vote()
    for kind in history:
        vote = judge(vote, derive(prior, {"A": vote}, 0), kind)
        expected = max(0, min(1000, expected + {HELPFUL: 80, INCORRECT: -150, NOT_RELEVANT: 0}[kind]))
        assert derive(prior, {"A": vote}, 0) == expected
    assert vote.n == history.count(HELPFUL)


@given(votes, thousandths, st.sampled_from(KINDS))
def test_a_clones_vote_only_ever_grows(vote: Vote, now: int, kind: str) -> None:
    after = judge(vote, now, kind)
    assert all(new >= old for new, old in zip(after, vote, strict=True))
    assert larger([vote, after]) == after


@given(st.lists(votes, max_size=5))
def test_the_larger_vote_does_not_depend_on_order_or_repetition(some: list[Vote]) -> None:
    assert larger(some) == larger(some[::-1]) == larger(some + some)


@given(thousandths, st.dictionaries(st.sampled_from("ABC"), votes), st.integers(0, 5))
def test_a_hand_edit_of_the_confidence_moves_the_prior_to_give_exactly_it(
    wanted: int, known: dict[str, Vote], merged: int
) -> None:
    assert derive(prior_for(wanted, known, merged), known, merged) == wanted


@given(st.integers(-5000, 5000), st.dictionaries(st.sampled_from("ABC"), votes), st.integers(0, 20))
def test_a_confidence_is_never_outside_zero_to_one(prior: int, known: dict[str, Vote], merged: int) -> None:
    assert 0 <= derive(prior, known, merged) <= FULL


@pytest.mark.parametrize(
    ("value", "name"),
    [
        *((0, "cold"), (299, "cold"), (300, "warm"), (599, "warm"), (600, "trusted"), (799, "trusted")),
        *((800, "authoritative"), (1000, "authoritative")),
    ],
)
def test_states(value: int, name: str) -> None:
    assert state(value) == name


@given(thousandths)
def test_two_decimals_are_the_nearest_and_halves_go_up(value: int) -> None:
    shown = two_decimals(value)
    assert len(shown) == 4
    assert -5 < value - round(float(shown) * 1000) < 5 or value % 10 == 5
    assert two_decimals(705) == "0.71"
    assert (two_decimals(0), two_decimals(1000)) == ("0.00", "1.00")
