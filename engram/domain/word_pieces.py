"""Two texts side by side, and which words of each the other does not have."""

from __future__ import annotations

import re

from engram.domain.text_merge import common
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOKENS = re.compile(r"\w+|\n|[^\w\n]")


class Piece(NamedTuple):
    """A part of a text; `differs`: the other text does not have it here."""

    text: str
    differs: bool


def word_differences(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts as pieces, by words, marks and line ends; joined they are the texts again."""
    words, others = _TOKENS.findall(one), _TOKENS.findall(other)
    same = common(words, others)
    return _pieces(words, {at for at, _ in same}), _pieces(others, {at for _, at in same})


def _pieces(tokens: Sequence[str], same: set[int]) -> list[Piece]:
    """The tokens, each run of equal state as one piece; a blank between two words that differ differs too."""
    differs = [at not in same for at in range(len(tokens))]
    for at in range(1, len(tokens) - 1):
        if tokens[at] == " " and differs[at - 1] and differs[at + 1]:
            differs[at] = True
    pieces: list[Piece] = []
    for token, differing in zip(tokens, differs, strict=True):
        if pieces and pieces[-1].differs == differing:
            pieces[-1] = Piece(pieces[-1].text + token, differing)
        else:
            pieces.append(Piece(token, differing))
    return pieces
