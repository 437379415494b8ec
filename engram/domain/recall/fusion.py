"""Reciprocal rank fusion: merge several rankings into one in which names ranked high in many lists come first.

A name's score is the sum, over the lists that have it, of 1 / (k + its rank in them, from 1).
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

K = 60  # the larger, the smaller the difference between first and tenth


class Fused(NamedTuple):
    """A name, its score, and how many lists have it."""

    name: str
    score: float
    lists: int


def fuse(lists: Sequence[Sequence[str]], k: int = K) -> list[Fused]:
    """Return all names, best first; ties keep the order of first appearance. Repetitions within a list are ignored."""
    found: dict[str, tuple[float, int]] = {}
    for names in lists:
        for place, name in enumerate(dict.fromkeys(names), 1):
            score, count = found.get(name, (0.0, 0))
            found[name] = (score + 1 / (k + place), count + 1)
    return sorted((Fused(name, *one) for name, one in found.items()), key=lambda one: -one.score)
