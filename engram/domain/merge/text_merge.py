"""Three-way merge of a text by lines; the same result whichever side is called ours.

Lines are aligned by a longest common subsequence, found with the bit-parallel method of Hyyrö ("Bit-parallel
LCS-length computation revisited", 2004): exact, and bounded by one big-integer step a line, so that no text
of 4,000 characters takes longer than some milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def merge_text(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with the changes of both sides; None where they overlap or touch."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    merged = merge_lines(base.split("\n"), ours.split("\n"), theirs.split("\n"))
    return None if merged is None else "\n".join(merged)


def merge_lines(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """Return the lines with the changes of both sides; None where they overlap or touch."""
    one, other = merge_both_ways(base, ours, theirs)
    return one if one == other else None


def merge_versions(base: str, winner: str, loser: str) -> tuple[str, str]:
    """Return the text with the changes of both sides, where they overlap with the winner's, and the same with the loser's."""
    return tuple(  # type: ignore[return-value]
        ["\n".join(lines) for lines in merge_both_ways(*(side.split("\n") for side in (base, winner, loser)))]
    )


def merge_both_ways(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the lines with the changes of both sides twice: where they overlap or touch with ours, and with theirs.

    A line that both sides kept separates two changes. Between two such lines a change of one side is taken,
    and so is the same change of both.
    """
    in_ours, in_theirs = dict(common(base, ours)), dict(common(base, theirs))
    one: list[str] = []
    other: list[str] = []
    at = our_at = their_at = 0
    for line in [*sorted(in_ours.keys() & in_theirs.keys()), len(base)]:
        our_end, their_end = in_ours.get(line, len(ours)), in_theirs.get(line, len(theirs))
        mine, yours = ours[our_at:our_end], theirs[their_at:their_end]
        chosen = _chosen(base[at:line], mine, yours)
        one += mine if chosen is None else chosen
        other += yours if chosen is None else chosen
        one += base[line : line + 1]
        other += base[line : line + 1]
        at, our_at, their_at = line + 1, our_end + 1, their_end + 1
    return one, other


def _chosen(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Sequence[str] | None:
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of positions of a longest common subsequence, in order; equal edges are always part of it."""
    start = 0
    least = min(len(one), len(other))
    while start < least and one[start] == other[start]:
        start += 1
    end = 0
    while end < least - start and one[-1 - end] == other[-1 - end]:
        end += 1
    pairs = [(at, at) for at in range(start)]
    middle = _longest(one[start : len(one) - end], other[start : len(other) - end])
    pairs += [(at + start, there + start) for at, there in middle]
    return pairs + [(len(one) - left, len(other) - left) for left in range(end, 0, -1)]


def _longest(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
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
    return _traced(rows, len(one))


def _traced(rows: Sequence[int], at: int) -> list[tuple[int, int]]:
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
