"""Measures of an answer that was judged, and the halves of what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis.strategies as st
from hypothesis import given

from engram.domain.recall import retrieval_measures
from engram.domain.recall.retrieval_measures import Question

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_a_gain_is_ndcg_and_a_penalty_lowers_it() -> None:
    question = Question("q", frozenset("ab"), frozenset("x"))
    assert retrieval_measures.gain(question, ["a", "b", "x"]) == 1
    assert (
        0 < retrieval_measures.gain(question, ["x", "c", "a"]) < retrieval_measures.gain(question, ["a"]) < 1
    )
    assert retrieval_measures.gain(question, ["x"]) == 0
    assert retrieval_measures.gain(question, ["x"], penalty=1) < 0
    assert retrieval_measures.quality([question], {"q": ["c", "a"]})[:3] == (
        0.5,
        retrieval_measures.gain(question, ["c", "a"]),
        0.5,
    )


@given(st.lists(st.text(), unique=True, max_size=50))
def test_each_question_is_always_in_the_same_half(texts: Sequence[str]) -> None:
    questions = [Question(one, frozenset(), frozenset()) for one in texts]
    one, other = retrieval_measures.halves(questions)
    assert sorted([*one, *other]) == sorted(questions)
    assert 0 <= len(one) - len(other) <= 1
    assert retrieval_measures.halves(questions[::-1]) == (one, other)
