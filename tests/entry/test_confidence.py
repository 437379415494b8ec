"""Confidence: the votes of format 1, the value derived from them, and its level."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.confidence import (
    DEFAULT_PRIOR,
    FULL,
    Vote,
    derive,
    larger,
    prior_for,
    state,
    stated_text,
    two_decimals,
)

thousandths = st.integers(0, FULL)
votes = st.builds(Vote, st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 50))


def test_folding_equivalent_entries_adds_a_tenth_each() -> None:
    assert derive(700, {}, 1) == 800
    assert derive(700, {"A": Vote(80, 0, 1)}, 2) == 980


@given(st.lists(votes, max_size=5))
def test_merging_votes_does_not_depend_on_order_or_repetition(some: list[Vote]) -> None:
    assert larger(some) == larger(some[::-1]) == larger(some + some)


@given(thousandths, st.dictionaries(st.sampled_from("ABC"), votes), st.integers(0, 5))
def test_a_manual_edit_of_the_confidence_sets_the_prior_that_gives_it(
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
def test_confidence_levels_have_names(value: int, name: str) -> None:
    assert state(value) == name


@given(thousandths)
def test_two_decimals_are_the_nearest_and_halves_go_up(value: int) -> None:
    shown = two_decimals(value)
    assert len(shown) == 4
    assert -5 < value - round(float(shown) * 1000) < 5 or value % 10 == 5
    assert [two_decimals(value) for value in (704, 705)] == ["0.70", "0.71"]
    assert (two_decimals(0), two_decimals(1000)) == ("0.00", "1.00")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0.00"), (700, "0.70"), (705, "0.705"), (5, "0.005"), (999, "0.999"), (1000, "1.00")],
)
def test_a_stated_confidence_has_thousandths_only_if_needed(value: int, shown: str) -> None:
    assert stated_text(value) == shown


def test_the_default_stated_confidence_is_070() -> None:
    assert stated_text(DEFAULT_PRIOR) == "0.70"
