"""How good an answer is: strong, weak, or none.

A hit counts by its cosine and by how much of the query its words cover. The bounds were fitted on
answerable and unanswerable questions (docs/recall.md says which and what they give).
"""

from __future__ import annotations

STRONG, WEAK, NONE = STRENGTHS = ("strong", "weak", "none")

_STRONG = 0.45
_WEAK = 0.20
_WEAK_WORDS = 0.08
_COSINE_OF_NOTHING = 0.05
_WORDS_WEIGHT = 1.25


def evidence(coverage: float, cosine: float | None) -> float:
    """How much speaks for a hit: what its words cover and how far its cosine is above that of unrelated texts."""
    if cosine is None:
        return coverage * _WEAK / _WEAK_WORDS
    return _WORDS_WEIGHT * coverage + max(0.0, cosine - _COSINE_OF_NOTHING)


def strength(best_evidence: float) -> str:
    """The strength of an answer whose best hit has this evidence."""
    if best_evidence >= _STRONG:
        return STRONG
    return WEAK if best_evidence >= _WEAK else NONE


def is_relevant(evidence_of_hit: float) -> bool:
    """Whether a hit is worth showing at all."""
    return evidence_of_hit >= _WEAK
