"""Strength: more evidence never makes an answer weaker, and the bounds are in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.recall.ranking import (
    BY_BOTH,
    BY_WORDS,
    NONE,
    STRENGTHS,
    STRONG,
    WEAK,
    bounds,
    evidence,
    strength,
)

fractions = st.floats(0, 1)
cosines = st.none() | st.floats(-1, 1)
RANK = {NONE: 0, WEAK: 1, STRONG: 2}


def told(coverage: float, cosine: float | None) -> str:
    return strength(evidence(coverage, cosine), bounds(cosine))


def test_there_are_three_strengths() -> None:
    assert STRENGTHS == ("strong", "weak", "none")


@pytest.mark.parametrize("limits", [BY_BOTH, BY_WORDS])
def test_the_bounds_for_shown_weak_and_strong_are_in_order(
    limits: tuple[float, float, float],
) -> None:
    strong, weak, shown = limits
    assert shown <= weak < strong


def test_a_perfect_hit_is_strong_and_no_hit_is_none() -> None:
    assert told(1.0, 1.0) == told(1.0, None) == STRONG
    assert told(0.0, None) == told(0.0, 0.0) == told(0.0, -1.0) == NONE


@given(fractions, fractions, cosines, cosines)
def test_more_words_or_more_meaning_never_weaken_an_answer(
    words: float, more: float, cosine: float | None, nearer: float | None
) -> None:
    low, high = sorted((words, more))
    assert RANK[told(low, cosine)] <= RANK[told(high, cosine)]
    if cosine is not None and nearer is not None:
        far, near = sorted((cosine, nearer))
        assert RANK[told(low, far)] <= RANK[told(low, near)]


@given(fractions, cosines, fractions, fractions)
def test_evidence_shrinks_with_what_is_missing(
    words: float, cosine: float | None, missing: float, more: float
) -> None:
    less, most = sorted((missing, more))
    assert evidence(words, cosine, most) <= evidence(words, cosine, less)


def test_a_hit_without_the_decisive_word_is_no_answer() -> None:
    assert strength(evidence(0.1, 0.2, 0.3), BY_BOTH) == NONE
    assert strength(evidence(0.1, 0.2, 0.1), BY_BOTH) == WEAK
