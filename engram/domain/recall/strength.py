"""The strength of an answer: strong, weak, or none.

The evidence for a hit is its cosine and the share of the query that its words cover, less one and a half times what it
lacks most: the word of the query that the entry is farthest from. A query that nothing answers usually has one such
word. By words alone evidence is the share covered, with bounds of its own. docs/recall.md has the rates that these
bounds give.
"""

from __future__ import annotations

from engram.domain.typed import NamedTuple

STRONG, WEAK, NONE = STRENGTHS = ("strong", "weak", "none")

_COVERAGE_WEIGHT = 0.65
_MISSING_WEIGHT = 1.5
_LEAST_MISSING = 0.08  # assumed of any text: one that hardly touches a query does not answer it


class Bounds(NamedTuple):
    """The evidence from which on an answer is strong, an answer is one at all, a hit is shown beside a better one."""

    strong: float
    weak: float
    shown: float


BY_BOTH = Bounds(0.35, 0.0, -0.13)
BY_WORDS = Bounds(0.24, 0.03, 0.02)


def evidence(coverage: float, cosine: float | None, missing: float | None = None) -> float:
    """Return the evidence for a hit; below 0 more is missing than present.

    `coverage` and `missing` are 0..1; `cosine` is None without vectors, `missing` without token vectors.
    """
    if cosine is None:
        return coverage
    lacking = max(missing or 0.0, _LEAST_MISSING)
    return max(cosine, 0.0) + _COVERAGE_WEIGHT * coverage - _MISSING_WEIGHT * lacking


def bounds(cosine: float | None) -> Bounds:
    """Return the bounds for evidence of this kind."""
    return BY_WORDS if cosine is None else BY_BOTH


def strength(best_evidence: float, limits: Bounds) -> str:
    """Return the strength of an answer whose best hit has this evidence."""
    if best_evidence >= limits.strong:
        return STRONG
    return WEAK if best_evidence >= limits.weak else NONE
