"""How good an answer is: strong, weak, or none.

A hit's evidence is its cosine and the share of the query that its words cover, weighed as a logistic fit on
answered and unanswerable questions gave them (docs/recall.md says which, and what the bounds give).
"""

from __future__ import annotations

STRONG, WEAK, NONE = STRENGTHS = ("strong", "weak", "none")

_STRONG_FROM = 0.60
_WEAK_FROM = 0.30
_SHOWN_FROM = 0.25
_COVERAGE_WEIGHT = 0.65
_COVERAGE_ALONE = 2.5


def evidence(coverage: float, cosine: float | None) -> float:
    """How much speaks for a hit. `coverage` is 0..1; `cosine` is None where there are no vectors."""
    if cosine is None:
        return _COVERAGE_ALONE * coverage
    return max(cosine, 0.0) + _COVERAGE_WEIGHT * coverage


def strength(best_evidence: float) -> str:
    """The strength of an answer whose best hit has this evidence."""
    if best_evidence >= _STRONG_FROM:
        return STRONG
    return WEAK if best_evidence >= _WEAK_FROM else NONE


def is_relevant(evidence_of_hit: float) -> bool:
    """Whether a hit is worth showing beside a better one."""
    return evidence_of_hit >= _SHOWN_FROM
