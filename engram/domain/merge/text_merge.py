"""Three-way merge of a text by lines; the same result whichever side is called ours.

Lines are aligned by a longest common subsequence, found with the bit-parallel method of Hyyrö ("Bit-parallel
LCS-length computation revisited", 2004): exact, and bounded by one big-integer step a line, so that no text
of 4,000 characters takes longer than some milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.domain.text.word_diff import common_ends

if TYPE_CHECKING:
    from collections.abc import Sequence


# The text of a missing base: a line that no side has.
NO_TEXT = "\0"


def merge_text(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with the changes of both sides; None if they overlap or touch."""
    one, other = merge_versions(base, ours, theirs)
    return one if one == other else None


def merge_versions(base: str, winner: str, loser: str) -> tuple[str, str]:
    """Return the text with the changes of both sides, twice: with the winner's changes where they conflict, and the loser's.

    Changes conflict if they overlap or touch, that is, if no line that both sides kept separates them. A change of only
    one side, or the same change of both, is taken.
    """
    before, ours, theirs = base.split("\n"), winner.split("\n"), loser.split("\n")
    in_ours, in_theirs = dict(common(before, ours)), dict(common(before, theirs))
    one: list[str] = []
    other: list[str] = []
    at = our_at = their_at = 0
    for line in [*sorted(in_ours.keys() & in_theirs.keys()), len(before)]:
        our_end, their_end = in_ours.get(line, len(ours)), in_theirs.get(line, len(theirs))
        old, our_lines, their_lines = before[at:line], ours[our_at:our_end], theirs[their_at:their_end]
        kept = before[line : line + 1]
        one += (their_lines if our_lines == old else our_lines) + kept
        other += (our_lines if their_lines == old else their_lines) + kept
        at, our_at, their_at = line + 1, our_end + 1, their_end + 1
    return "\n".join(one), "\n".join(other)


def common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of positions of a longest common subsequence, in order; it always contains a common start and end."""
    start, end = common_ends(one, other)
    pairs = [(at, at) for at in range(start)]
    middle = _longest_common(one[start : len(one) - end], other[start : len(other) - end])
    pairs += [(at + start, other_at + start) for at, other_at in middle]
    return pairs + [(len(one) - left, len(other) - left) for left in range(end, 0, -1)]


def _longest_common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of a longest common subsequence, by bit vectors over the positions of `one`."""
    places: dict[str, int] = {}
    for at, line in enumerate(one):
        places[line] = places.get(line, 0) | 1 << at
    full = (1 << len(one)) - 1
    rows = [full]
    for line in other:
        row = rows[-1]
        hits = row & places.get(line, 0)
        rows.append(((row + hits) | (row - hits)) & full)
    return _trace_back(rows, len(one))


def _trace_back(rows: Sequence[int], at: int) -> list[tuple[int, int]]:
    """Trace back through the rows: bit `i` of row `j` is 0 where line `i` extends the common subsequence of row `j`."""
    pairs: list[tuple[int, int]] = []
    row = len(rows) - 1
    while at and row:
        bit = 1 << at - 1
        if rows[row] & bit:
            at -= 1
        elif not rows[row - 1] & bit:
            row -= 1
        else:
            at, row = at - 1, row - 1
            pairs.append((at, row))
    return pairs[::-1]
