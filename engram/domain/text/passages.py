"""How many passages of a long text get a vector of their own, besides the one of the whole.

The mean vector of a long note says a little of everything; the best of the whole and its passages was measured to find
more (docs/recall.md).
"""

from __future__ import annotations

LONG = 900
PASSAGE = 600
MOST = 4


def passages(length: int) -> int:
    """Return into how many slices to cut a text of `length` characters: 1 up to 900, then 2 to 4 of about 600 or more."""
    return 1 if length <= LONG else min(MOST, -(-length // PASSAGE))
