"""A budget spent on the entries of an answer from the first one on: fewer of them rather than a stump of each."""

from __future__ import annotations

from engram.domain.recall.budget import PASSAGES, WHOLE, Excerpt
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.domain.recall.budget import Nearness

_LEAST = 400  # characters of room that are worth a passage of a long entry
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
    """Return what is shown of each text within `room` characters: whole, passages of a long one, None for nothing.

    Where there is room for all of them, all are whole.
    `cost` counts the characters of text number n shown so. Only of the first text that is shown a short one may lose
    a part, where the room is too small for all of it.
    """
    found: list[Excerpt | None] = [Excerpt(text) for text in texts]
    if sum(cost(number, shown) for number, shown in enumerate(found) if shown) <= room:
        return found
    found = []
    for number, text in enumerate(texts):
        least = _LEAST_OF_FIRST if not any(found) else _LEAST if len(text) > WHOLE else WHOLE + 1
        shown = _fitting(number, text, room, question, cost, near, least)
        found.append(shown)
        room -= cost(number, shown) if shown else 0
    return found


def _fitting(
    number: int,
    text: str,
    room: int,
    question: str,
    cost: Callable[[int, Excerpt], int],
    near: Nearness | None,
    least: int,
) -> Excerpt | None:
    """Return as much of a text as may be shown, None where that would be less than `least` characters."""
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
        most = min(most, len(shown.text)) - over  # marks, quotes and line ends cost, too
    return None
