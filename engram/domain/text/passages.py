"""The number of passages of a long text that get their own vectors, besides that of the whole text.

The mean vector of a long text is diluted; the best of the whole text and its passages was measured to find more
(docs/recall.md).
"""

from __future__ import annotations

LONG = 900
PASSAGE = 600
MOST = 4  # for entries written by Engram
_LONG_NOTE = 4000
_LONG_PASSAGE = 600
_MAX_OF_NOTE = 256


def passages(length: int) -> int:
    """Return the number of slices for a text of `length` characters: 1 up to 900, then 2 to 4 of about 600 or more.

    A note beyond the maximum length of Engram's own entries has one for each 600 characters, at most 256.
    """
    if length > _LONG_NOTE:
        return min(_MAX_OF_NOTE, max(MOST, -(-length // _LONG_PASSAGE)))
    return 1 if length <= LONG else min(MOST, -(-length // PASSAGE))
