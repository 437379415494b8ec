"""The cost of text in tokens, and how much of an entry is shown."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Nearness = Callable[[Sequence[str]], Sequence[float]]  # the similarity of each text to the question

CHARACTERS_PER_TOKEN = 4
WHOLE = 1200  # characters up to which an entry is always shown whole
PASSAGES = 1000  # characters shown at most of a longer one


class Excerpt(NamedTuple):
    """The text shown of an entry, and how many characters are left out."""

    text: str
    left_out: int = 0


def tokens(text: str) -> int:
    """Estimate how many tokens a text costs a language model (four characters each)."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
