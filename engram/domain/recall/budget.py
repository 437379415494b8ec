"""A budget of tokens, shared among the entries of an answer."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARACTERS_PER_TOKEN = 4
_SMALLEST = 160


def tokens(text: str) -> int:
    """Estimate how many tokens a text costs a language model (four characters each)."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def shares(texts: Sequence[str], budget: int | None) -> list[str]:
    """Cut texts so that together they cost about `budget` tokens (None: do not cut).

    What short texts leave goes to the long ones; nothing is cut below about 160 characters.
    """
    if budget is None:
        return list(texts)
    left = budget * CHARACTERS_PER_TOKEN
    lengths: dict[int, int] = {}
    for place, number in enumerate(sorted(range(len(texts)), key=lambda number: len(texts[number]))):
        fair = max(_SMALLEST, left // (len(texts) - place))
        lengths[number] = min(len(texts[number]), fair)
        left = max(0, left - lengths[number])
    return [cut(text, lengths[number]) for number, text in enumerate(texts)]


def cut(text: str, length: int) -> str:
    """Cut a text to at most `length` characters, at the end of a paragraph, a sentence or a word."""
    if len(text) <= length:
        return text
    head = text[:length]
    for separator, keep in (("\n\n", 0), (". ", 1), ("\n", 0), (" ", 0)):
        at = head.rfind(separator)
        if at > length // 2:
            return head[: at + keep].rstrip()
    return head.rstrip()
