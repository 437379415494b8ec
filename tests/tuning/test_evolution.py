"""The evidence that a proposal needs, and the harm that it must not do."""

from __future__ import annotations

from typing import Any

import pytest

from engram.domain.recall.retrieval_measures import Interval, Quality
from engram.domain.tuning import evolution
from engram.domain.tuning.evolution import Evidence

FINE = Quality(0.5, 0.5, 1.0, 40)
EVIDENCE = Evidence(40, 20, FINE, FINE._replace(ndcg=0.6), Interval(0.1, 0.02, 0.2))


@pytest.mark.parametrize(
    "weaker",
    [
        {"moved": 5},
        {"gain": Interval(0.009, 0.001, 0.02)},
        {"gain": Interval(0.1, 0.0, 0.2)},
        {"after": FINE._replace(mrr=0.49)},
        {"after": FINE._replace(recall=0.94)},
    ],
)
def test_doubtful_evidence_or_harm_is_not_enough(weaker: dict[str, Any]) -> None:
    assert evolution.is_sound(EVIDENCE, hides=False)
    assert not evolution.is_sound(EVIDENCE._replace(**weaker), hides=False)


def test_a_step_that_hides_entries_must_lose_no_helpful_one() -> None:
    many = FINE._replace(helpful=evolution.LEAST_HELPFUL)
    assert not evolution.is_harmless(FINE, FINE, hides=True)
    assert evolution.is_harmless(many, many, hides=True)
    assert not evolution.is_harmless(many, many._replace(recall=0.99), hides=True)
