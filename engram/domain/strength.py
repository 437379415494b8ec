"""How good an answer is: strong, weak, or none.

A hit counts by its cosine and by how much of the query its words cover. The bounds were fitted on
answerable and unanswerable questions (docs/recall.md says which and what they give).
"""

from __future__ import annotations

STRONG, WEAK, NONE = STRENGTHS = ("strong", "weak", "none")

_STRONG_EVIDENCE = 1.0
_WEAK_EVIDENCE = 0.45
_COSINE_ZERO, _COSINE_FULL = 0.10, 0.55
_COVERAGE_FULL = 0.45


def evidence(coverage: float, cosine: float | None) -> float:
    """How much speaks for a hit: 1 where its words or its meaning alone would do, more where both agree."""
    by_words = coverage / _COVERAGE_FULL
    if cosine is None:
        return by_words
    return by_words + max(0.0, cosine - _COSINE_ZERO) / (_COSINE_FULL - _COSINE_ZERO)


def strength(best_evidence: float) -> str:
    """The strength of an answer whose best hit has this evidence."""
    if best_evidence >= _STRONG_EVIDENCE:
        return STRONG
    return WEAK if best_evidence >= _WEAK_EVIDENCE else NONE


def is_relevant(evidence_of_hit: float) -> bool:
    """Whether a hit is worth showing at all."""
    return evidence_of_hit >= _WEAK_EVIDENCE
