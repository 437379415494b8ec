"""Packing framed lore into a budget of tokens: what comes first gets its share, and leaves over what it does not need."""

from __future__ import annotations

from engram.domain.agents.framing import NOTICE, Framed, as_text
from engram.domain.graph.team import HANDED_OVER
from engram.domain.recall.budget import CHARACTERS_PER_TOKEN, cut, tokens
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADINGS = HANDED, SO_FAR, KNOWN, EARLIER, ABOUT = (
    HANDED_OVER,
    "This session so far:",
    "Known about this:",
    "Earlier sessions:",
    "Entities:",
)
WRITTEN = "as written"  # in the place of a tier, of what has none: a file of an entity
_SHORTEST = 60  # characters of a content that is worth showing
_MARKS = 32  # characters that the remark on what was left out takes


class Section(NamedTuple):
    """Some lore under a heading; `share` (0 to 1) of what is left is theirs at most, unless nobody comes after."""

    title: str
    items: tuple[Framed, ...]
    share: float


class Packed(NamedTuple):
    """Sections as far as they fit, as one text of at most the budget, and how many lore did not fit."""

    sections: tuple[Section, ...]
    text: str
    left_out: int


def pack(sections: Sequence[Section], budget: int, closing: str = "") -> Packed:
    """Fit sections into `budget` tokens, notice and headings included. Empty ones have no heading."""
    left = budget - _cost(NOTICE) - _cost(closing)
    fitted, missing = [], 0
    for number, section in enumerate(sections):
        share = 1.0 if number == len(sections) - 1 else section.share
        allowed = int(left * share) - _cost(section.title)
        items, spent = _fit(section.items, allowed)
        missing += len(section.items) - len(items)
        fitted.append(section._replace(items=tuple(items)))
        left -= spent + _cost(section.title) if items else 0
    return Packed(tuple(fitted), _text(fitted, closing), missing)


def _fit(items: Sequence[Framed], allowed: int) -> tuple[list[Framed], int]:
    """The items that fit, long ones cut, and what they cost."""
    found, left = [], allowed
    for place, item in enumerate(items):
        fair = max(left // (len(items) - place), min(left, _cost(as_text(item._replace(content=""))) + 40))
        one = fitted(item, fair)
        if one is not None:
            found.append(one)
            left -= _cost(as_text(one))
    return found, allowed - left


def fitted(item: Framed, allowed: int) -> Framed | None:
    """The item in at most so many tokens; None where too little of it would be left."""
    whole, one = item.content, item
    while (over := _cost(as_text(one)) - allowed) > 0:
        keep = len(one.content) - over * CHARACTERS_PER_TOKEN - _MARKS * (one is item)
        if keep < _SHORTEST:
            return None
        shorter = cut(whole, keep)
        one = item._replace(content=shorter, left_out=item.left_out + len(whole) - len(shorter))
    return one


def _cost(text: str) -> int:
    """Tokens of a text with the blank line after it."""
    return tokens(text + "\n\n") if text else 0


def _text(sections: Sequence[Section], closing: str) -> str:
    shown = [part for one in sections if one.items for part in (one.title, *map(as_text, one.items))]
    return "\n\n".join([NOTICE, *shown, *([closing] if closing else [])])
