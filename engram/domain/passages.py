"""Cutting a long text into passages that each get a vector of their own.

One mean vector of a long note says a little of everything; the best of the whole and its passages was
measured to find more (docs/recall.md).
"""

from __future__ import annotations

from itertools import pairwise

LONG = 900
PASSAGE = 600
MOST = 4


def passages(text: str) -> list[str]:
    """The text itself, and for one of more than 900 characters 2 to 4 slices of equal length, cut between words."""
    if len(text) <= LONG:
        return [text]
    count = min(MOST, -(-len(text) // PASSAGE))
    edges = [0, *[_word_edge(text, len(text) * number // count) for number in range(1, count)], len(text)]
    return [text, *[text[start:end] for start, end in pairwise(edges)]]


def _word_edge(text: str, near: int) -> int:
    """The first blank at or shortly after `near`."""
    at = text.find(" ", near, near + 60)
    return at if at >= 0 else near
