"""A comparison of two texts word by word, in bounded time."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Pairs of equal pieces; beyond it (one word again and again) the search could take minutes.
MOST_MATCHES = 60_000
_PIECES = re.compile(r"(\w+|[^\w\s]|^)(\s*)")


def word_diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield pieces of both texts in order: that of the first and that of the second; equal where nothing differs."""
    mine = others = ""
    for old, new in _pieces(before, after):
        if (old or new) and (mine or others) and (mine == others) != (old == new):
            blanks = _shared_blanks(mine, others) if mine != others else 0
            yield mine[: len(mine) - blanks], others[: len(others) - blanks]
            mine = others = mine[len(mine) - blanks :]
        mine, others = mine + old, others + new
    if mine or others:
        yield mine, others


def _shared_blanks(one: str, other: str) -> int:
    """Count the blanks with which both texts end: where a word is missing before them, they do not differ."""
    alike = 0
    for mine, others in zip(reversed(one), reversed(other), strict=False):
        if mine != others or not mine.isspace():
            break
        alike += 1
    return alike


def _pieces(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield the same for smaller pieces: a word and the blanks after it separately if only one of them differs."""
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


def compare_parts(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Yield the parts of two sequences in order: whether they are equal, and their bounds in the first and the second.

    A difference in the middle is one part if finding the best alignment would take too long.
    """
    head, tail = common_ends(one, other)
    ends = len(one) - tail, len(other) - tail
    if head:
        yield True, 0, head, 0, head
    yield from _middle(one[head : ends[0]], other[head : ends[1]], head)
    if tail:
        yield True, ends[0], len(one), ends[1], len(other)


def common_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Count the items with which two sequences begin alike, and those of the rest with which they end alike."""
    shorter = min(len(one), len(other))
    head = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    rest = shorter - head
    return head, next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)


def _middle(
    one: Sequence[str], other: Sequence[str], shift: int
) -> Iterator[tuple[bool, int, int, int, int]]:
    from collections import Counter
    from difflib import SequenceMatcher

    if not (one or other):
        return
    counts, others = Counter(one), Counter(other)
    if sum(count * others[piece] for piece, count in counts.items()) > MOST_MATCHES:
        yield False, shift, shift + len(one), shift, shift + len(other)
        return
    for kind, start, end, from_, to in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        yield kind == "equal", shift + start, shift + end, shift + from_, shift + to


def _join_pieces(pieces: Sequence[tuple[str, str]], *, cut: bool = False) -> str:
    """Join pieces; with `cut` without the blanks after the last."""
    text = "".join([word + gap for word, gap in pieces])
    return text[: len(text) - len(pieces[-1][1])] if cut and pieces else text
