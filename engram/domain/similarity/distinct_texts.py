"""Drop texts that say the same as an earlier one, so that an answer shows each thing once."""

from __future__ import annotations

from engram.domain.similarity.equivalence import SAME, compare
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MIN_SHARED = 0.5  # of the words of the longer text: texts that share fewer cannot say the same


class Distinct:
    """The distinct texts so far; a new one is compared in full only with those that share most words."""

    def __init__(self) -> None:
        """Begin without texts."""
        self._kept: list[tuple[str, frozenset[str]]] = []

    def twin_of(self, text: str) -> int | None:
        """Return the number (from 0) of the text that says the same; if there is none, add this one and return None."""
        words = frozenset(text.casefold().split())
        for number, (other, others) in enumerate(self._kept):
            may_agree = len(words & others) >= _MIN_SHARED * max(len(words), len(others))
            if text == other or (may_agree and compare(text, other).kind == SAME):
                return number
        self._kept.append((text, words))
        return None


def distinct(texts: Sequence[str]) -> list[int]:
    """Return the indexes of the texts that do not repeat an earlier one."""
    seen = Distinct()
    return [number for number, text in enumerate(texts) if seen.twin_of(text) is None]
