"""Strength: more evidence never makes an answer weaker, and what is shown is never called nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.strength import NONE, STRENGTHS, STRONG, WEAK, evidence, is_relevant, strength

fractions = st.floats(0, 1)
cosines = st.none() | st.floats(-1, 1)
RANK = {NONE: 0, WEAK: 1, STRONG: 2}


def test_there_are_three() -> None:
    assert STRENGTHS == ("strong", "weak", "none")


def test_a_perfect_hit_is_strong_and_no_hit_is_none() -> None:
    assert strength(evidence(1.0, 1.0)) == strength(evidence(1.0, None)) == STRONG
    assert (
        strength(evidence(0.0, None)) == strength(evidence(0.0, 0.0)) == strength(evidence(0.0, -1.0)) == NONE
    )
    assert strength(0.0) == NONE


@given(fractions, fractions, cosines, cosines)
def test_more_words_or_more_meaning_never_weaken_an_answer(
    words: float, more: float, cosine: float | None, nearer: float | None
) -> None:
    low, high = sorted((words, more))
    assert RANK[strength(evidence(low, cosine))] <= RANK[strength(evidence(high, cosine))]
    if cosine is not None and nearer is not None:
        far, near = sorted((cosine, nearer))
        assert RANK[strength(evidence(low, far))] <= RANK[strength(evidence(low, near))]


@given(fractions, cosines)
def test_a_strong_or_weak_hit_is_always_shown(words: float, cosine: float | None) -> None:
    found = evidence(words, cosine)
    assert found >= 0
    assert is_relevant(found) or strength(found) == NONE
    assert not is_relevant(0.0)
