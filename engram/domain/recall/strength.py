"""How good an answer is: strong, weak, or none.

A hit's evidence is its cosine and the share of the query that its words cover, less what is missing most: the one
thing asked that the lore is farthest from, half as much again. A question that nothing answers mostly has one such
thing. By words alone evidence is that share, with bounds of its own.
docs/recall.md says what the bounds give.
"""

from __future__ import annotations

from engram.domain.typed import NamedTuple

STRONG, WEAK, NONE = STRENGTHS = ("strong", "weak", "none")

_COVERAGE_WEIGHT = 0.65
_MISSING_WEIGHT = 1.5
_LEAST_MISSING = 0.08  # so much is missing of any text: nothing answers a question that it hardly touches


class Bounds(NamedTuple):
    """From which evidence on an answer is strong, an answer is one at all, a hit is shown beside a better one."""

    strong: float
    weak: float
    shown: float


BY_BOTH = Bounds(0.35, 0.0, -0.13)
BY_WORDS = Bounds(0.24, 0.03, 0.02)


def evidence(coverage: float, cosine: float | None, missing: float | None = None) -> float:
    """How much speaks for a hit; below 0 more is missing than is there.

    `coverage` and `missing` are 0..1; `cosine` is None where there are no vectors, `missing` where nobody looked.
    """
    if cosine is None:
        return coverage
    lacking = max(missing or 0.0, _LEAST_MISSING)
    return max(cosine, 0.0) + _COVERAGE_WEIGHT * coverage - _MISSING_WEIGHT * lacking


def bounds(cosine: float | None) -> Bounds:
    """The bounds that evidence of this kind is held against."""
    return BY_WORDS if cosine is None else BY_BOTH


def strength(best_evidence: float, limits: Bounds) -> str:
    """The strength of an answer whose best hit has this evidence."""
    if best_evidence >= limits.strong:
        return STRONG
    return WEAK if best_evidence >= limits.weak else NONE
