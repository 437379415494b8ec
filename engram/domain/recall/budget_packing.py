"""Spend a budget on the entries of an answer, the first one first: fewer entries rather than a stump of each."""

from __future__ import annotations

from engram.domain.recall.budget import PASSAGES, WHOLE, Excerpt
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.domain.recall.budget import Nearness

_LEAST = 400  # characters: with less room, no passage of a long entry is shown
_LEAST_OF_FIRST = 80
_TRIES = 6


def fill(
    texts: Sequence[str],
    room: int,
    question: str,
    *,
    cost: Callable[[int, Excerpt], int],
    near: Nearness | None = None,
) -> list[Excerpt | None]:
    """Return what is shown of each text within `room` characters: all of it, passages of a long one, None for nothing.

    If all texts fit, all are shown whole. A short text is cut only if it is the first one shown and does not fit.
    `cost` returns the characters that an excerpt of text number n takes.
    """
    found: list[Excerpt | None] = [Excerpt(text) for text in texts]
    if sum(cost(number, shown) for number, shown in enumerate(found) if shown) <= room:
        return found
    found = []
    for number, text in enumerate(texts):
        least = _LEAST_OF_FIRST if not any(found) else _LEAST if len(text) > WHOLE else WHOLE + 1
        shown = _fit(number, text, room, question, cost, near, least)
        found.append(shown)
        room -= cost(number, shown) if shown else 0
    return found


def _fit(
    number: int,
    text: str,
    room: int,
    question: str,
    cost: Callable[[int, Excerpt], int],
    near: Nearness | None,
    least: int,
) -> Excerpt | None:
    """Return as much of a text as fits and may be shown; None if that is less than `least` characters."""
    if len(text) <= WHOLE and cost(number, Excerpt(text)) <= room:
        return Excerpt(text)
    from engram.domain.recall.excerpt import excerpt

    most = min(PASSAGES, len(text) - 1, room - cost(number, Excerpt("", len(text))))
    for _ in range(_TRIES):
        if most < least:
            return None
        shown = excerpt(text, question, most, near)
        over = cost(number, shown) - room
        if over <= 0:
            return shown
        most = min(most, len(shown.text)) - over  # marks, quotes and line ends count, too
    return None
