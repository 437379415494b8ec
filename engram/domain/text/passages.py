"""How many passages of a long text get a vector of their own, besides the one of the whole.

The mean vector of a long note says a little of everything; the best of the whole and its passages was measured to find
more (docs/recall.md).
"""

from __future__ import annotations

LONG = 900
PASSAGE = 600
MOST = 4  # of what Engram writes
_LONG_NOTE = 4000
_LONG_PASSAGE = 600
_MOST_OF_NOTE = 256


def passages(length: int) -> int:
    """Return into how many slices to cut a text of `length` characters: 1 up to 900, then 2 to 4 of about 600 or more.

    A note that is longer than an entry of Engram's own may be has one for each 600 characters, at most 256.
    """
    if length > _LONG_NOTE:
        return min(_MOST_OF_NOTE, max(MOST, -(-length // _LONG_PASSAGE)))
    return 1 if length <= LONG else min(MOST, -(-length // PASSAGE))
