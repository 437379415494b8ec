"""How strong an answer is by its hits, and which of them go before an agent that did not ask.

Mutants that make no difference: the very bound between floats; the share of a bound where only none is told from some.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from engram.domain.recall.ranking import (
    BESIDE,
    BY_BOTH,
    BY_WORDS,
    NONE,
    ON_SUBJECT,
    STRONG,
    WEAK,
    Score,
    Trust,
)
from engram.usecases.recall.search import (
    evidence,
    has_rivals,
    strength_of,
    strong_hits,
    sureness,
    worth_showing,
)

LIMITS = BY_BOTH


class Hit(NamedTuple):
    """A hit of which only its score is known."""

    score: Score


def hit(much: float, lead: float, total: float = 0.5) -> Hit:
    """A hit with so much evidence: its cosine, less what every entry is taken to lack."""
    return Hit(Score(total, total, 0.0, much + 0.12, 0.0, 0.0, 1.0, 1.0, 1.0, lead))


CERTAIN, NEAR, NOTHING = hit(0.6, 0.6), hit(0.3, 0.1), hit(-0.5, 0.0)


def test_evidence_is_nearness_and_words_less_what_is_missing() -> None:
    assert evidence(CERTAIN) == pytest.approx(0.6)
    assert evidence(Hit(CERTAIN.score._replace(words=0.2, missing=0.1))) == pytest.approx(
        0.72 + 0.65 * 0.2 - 0.15
    )
    assert evidence(Hit(CERTAIN.score._replace(cosine=None, words=0.4))) == 0.4


def test_the_chance_part_of_a_models_cosines_is_no_evidence() -> None:
    other_model = Hit(NEAR.score._replace(trust=Trust(by_chance=0.31)))
    assert evidence(other_model) == pytest.approx(evidence(NEAR) - 0.31)
    assert (strength_of([NEAR]), strength_of([other_model])) == (WEAK, NONE)
    by_words = CERTAIN.score._replace(cosine=None, words=0.4, trust=Trust(by_chance=0.31))
    assert evidence(Hit(by_words)) == 0.4


def test_an_answer_is_as_strong_as_its_first_hit() -> None:
    assert strength_of([CERTAIN]) == strength_of([CERTAIN, NEAR, NOTHING]) == STRONG
    assert strength_of([NEAR, CERTAIN]) == WEAK


def test_any_hit_with_some_evidence_makes_a_weak_answer_and_none_makes_none() -> None:
    assert strength_of([NOTHING, NEAR]) == WEAK
    assert strength_of([NOTHING, NOTHING]) == strength_of([]) == NONE


def test_sureness_is_the_share_of_what_a_strong_answer_needs() -> None:
    assert sureness(hit(0.3, (LIMITS.strong - 0.3) / LIMITS.lead)) == pytest.approx(1)
    assert sureness(hit(0.3, (0.8 * LIMITS.strong - 0.3) / LIMITS.lead)) == pytest.approx(0.8)
    assert sureness(hit(LIMITS.least - 0.01, 1.0)) == 0


def test_a_lower_bar_accepts_less_sureness_but_not_less_evidence() -> None:
    lead = (0.8 * LIMITS.strong - 0.3) / LIMITS.lead + 1e-9
    assert strength_of([hit(0.3, lead)]) == WEAK
    assert strength_of([hit(0.3, lead)], bar=0.8) == STRONG
    assert strength_of([hit(LIMITS.least - 0.01, 1.0)], bar=0.1) == WEAK


def test_a_lead_counts_more_in_a_larger_store() -> None:
    lead = (LIMITS.strong - 0.3) / LIMITS.lead / 1.1
    small, large = hit(0.3, lead), hit(0.3, lead)
    large = Hit(large.score._replace(trust=Trust(lead=1.1 + 1e-9)))
    assert (strength_of([small]), strength_of([large])) == (WEAK, STRONG)
    assert sureness(large) == pytest.approx(1)


def test_answers_by_words_alone_have_bounds_of_their_own() -> None:
    lead = BY_WORDS.strong - 0.4
    by_words = Score(0.4, 0.4, 0.4, None, None, None, 1.0, 1.0, 1.0, lead)
    assert strength_of([Hit(by_words)]) == STRONG
    assert strength_of([Hit(by_words._replace(lead=lead - 0.01))]) == WEAK


def test_strong_hits_near_the_best_one_are_shown_with_it() -> None:
    first, near = hit(0.6, 0.6, 0.8), hit(0.6, 0.6, BESIDE * 0.8)
    far, weak = hit(0.6, 0.6, BESIDE * 0.8 - 0.01), hit(0.3, 0.1, 0.7)
    assert strong_hits([first, weak, near, far]) == [first, near]
    just = hit(0.3, (LIMITS.strong - 0.3) / LIMITS.lead + 1e-9)
    assert strong_hits([just]) == [just]


def test_no_hits_are_shown_if_the_best_is_not_strong() -> None:
    assert strong_hits([hit(0.3, 0.1, 1.0), hit(0.6, 0.6, 0.9)]) == []
    assert strong_hits([]) == []


def test_hits_near_the_best_one_must_reach_the_same_bar() -> None:
    lead = (0.8 * LIMITS.strong - 0.3) / LIMITS.lead + 1e-9
    pair = [hit(0.3, lead, 1.0), hit(0.3, lead, 0.9)]
    assert strong_hits(pair) == []
    assert strong_hits(pair, 0.8) == pair


def test_several_hits_are_rivals_if_the_best_is_on_the_subject() -> None:
    about, beside = hit(ON_SUBJECT + 0.01, 0.1), hit(ON_SUBJECT - 0.01, 0.1)
    assert has_rivals([about, beside])
    assert not has_rivals([about])
    assert not has_rivals([beside, NEAR])


def test_further_hits_are_shown_down_to_a_bound_only_if_one_answers() -> None:
    just, below = (Hit(NOTHING.score._replace(cosine=0.0, missing=lacks)) for lacks in (0.086, 0.0873))
    assert worth_showing([NEAR, just, below]) == [NEAR, just]
    assert worth_showing([NEAR, just], 0.1) == [NEAR]
    assert worth_showing([just, below]) == []
