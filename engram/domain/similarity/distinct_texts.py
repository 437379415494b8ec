"""Texts without those that say what an earlier one says: an answer shows each thing once."""

from __future__ import annotations

from engram.domain.similarity.equivalence import SAME, compare
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIKE = 0.5  # of the words of both, as written: texts that share fewer cannot be of the same stems


class Distinct:
    """The texts that were let through so far; each is compared in full only with those that share most words."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: list[tuple[str, frozenset[str]]] = []

    def twin_of(self, text: str) -> int | None:
        """Return which of the texts let through (0 for the first) says the same; None if none does: then it is let through."""
        words = frozenset(text.casefold().split())
        for number, (other, others) in enumerate(self._kept):
            like = len(words & others) >= _LIKE * max(len(words), len(others))
            if text == other or (like and compare(text, other).kind == SAME):
                return number
        self._kept.append((text, words))
        return None


def distinct(texts: Sequence[str]) -> list[int]:
    """Return the places of the texts that no earlier one says already."""
    seen = Distinct()
    return [place for place, text in enumerate(texts) if seen.twin_of(text) is None]
