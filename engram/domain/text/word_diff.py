"""Compare two texts word by word, in bounded time."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Pairs of equal pieces; with more (a word repeated many times) the search could take minutes.
MOST_MATCHES = 60_000
_PIECES = re.compile(r"(\w+|[^\w\s]|^)(\s*)")


def word_diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of pieces of both texts in order; the two are equal where the texts do not differ."""
    left = right = ""
    for old, new in _pieces(before, after):
        if (old or new) and (left or right) and (left == right) != (old == new):
            blanks = _shared_blanks(left, right) if left != right else 0
            yield left[: len(left) - blanks], right[: len(right) - blanks]
            left = right = left[len(left) - blanks :]
        left, right = left + old, right + new
    if left or right:
        yield left, right


def _shared_blanks(first: str, second: str) -> int:
    """Count the blanks at the end of both texts: if a word before them is missing, the blanks do not differ."""
    count = 0
    for left, right in zip(reversed(first), reversed(second), strict=False):
        if left != right or not left.isspace():
            break
        count += 1
    return count


def _pieces(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield the same with smaller pieces: a word and the blanks after it separately, if only one of them differs."""
    old, new = (_PIECES.findall(text) for text in (before, after))
    for same, start, end, from_, to in compare_parts([word for word, _ in old], [word for word, _ in new]):
        if same:
            for (word, gap), (_, other) in zip(old[start:end], new[from_:to], strict=True):
                yield word, word
                yield gap, other
        elif start < end and from_ < to:
            yield _join_pieces(old[start:end], cut=True), _join_pieces(new[from_:to], cut=True)
            yield old[end - 1][1], new[to - 1][1]
        else:
            yield _join_pieces(old[start:end]), _join_pieces(new[from_:to])


def compare_parts(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Yield the parts of two sequences in order: whether they are equal, and their bounds in the first and second.

    A difference in the middle is one part if finding its best alignment would take too long.
    """
    head, tail = common_ends(before, after)
    ends = len(before) - tail, len(after) - tail
    if head:
        yield True, 0, head, 0, head
    yield from _middle(before[head : ends[0]], after[head : ends[1]], head)
    if tail:
        yield True, ends[0], len(before), ends[1], len(after)


def common_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Count the equal items at the beginning of two sequences, and those at the end of the rest."""
    shorter = min(len(before), len(after))
    head = next((index for index in range(shorter) if before[index] != after[index]), shorter)
    rest = shorter - head
    return head, next((index for index in range(rest) if before[-1 - index] != after[-1 - index]), rest)


def _middle(
    before: Sequence[str], after: Sequence[str], shift: int
) -> Iterator[tuple[bool, int, int, int, int]]:
    from collections import Counter
    from difflib import SequenceMatcher

    if not (before or after):
        return
    before_counts, after_counts = Counter(before), Counter(after)
    if sum(count * after_counts[piece] for piece, count in before_counts.items()) > MOST_MATCHES:
        yield False, shift, shift + len(before), shift, shift + len(after)
        return
    for kind, start, end, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        yield kind == "equal", shift + start, shift + end, shift + from_, shift + to


def _join_pieces(pieces: Sequence[tuple[str, str]], *, cut: bool = False) -> str:
    """Join pieces; with `cut`, without the blanks after the last."""
    text = "".join([word + gap for word, gap in pieces])
    return text[: len(text) - len(pieces[-1][1])] if cut and pieces else text
