"""A budget of tokens, spent on the entries of an answer from the first one on."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Nearness = Callable[[Sequence[str]], Sequence[float]]  # how near each of some texts comes to the question

CHARACTERS_PER_TOKEN = 4
WHOLE = 1200  # characters up to which an entry is always shown whole
PASSAGES = 1000  # characters that are shown at most of a longer one
_LEAST = 400  # characters of room that are worth a passage of a long entry
_LEAST_OF_FIRST = 80
_TRIES = 6


class Excerpt(NamedTuple):
    """What is shown of an entry, and how many of its characters are not."""

    text: str
    left_out: int = 0


def tokens(text: str) -> int:
    """Estimate how many tokens a text costs a language model (four characters each)."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def fill(
    texts: Sequence[str],
    room: int,
    question: str,
    *,
    cost: Callable[[int, Excerpt], int],
    near: Nearness | None = None,
) -> list[Excerpt | None]:
    """Return what is shown of each text within `room` characters: whole, passages of a long one, None for nothing.

    `cost` counts the characters of text number n shown so. Only of the first text that is shown a short one may lose
    a part, where the room is too small for all of it.
    """
    found: list[Excerpt | None] = []
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
