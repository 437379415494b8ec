"""Finding which entries a person or agent means by a few words of it."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CLOSE_ENOUGH = 0.6
CLEAR_LEAD = 0.1
MIN_PREFIX = 4
_INFLECTED = 5
_ENDING = 3
_REF = re.compile(r"[Ll](\d{1,6})")


class Seen(NamedTuple):
    """An entry that the session was shown."""

    id: str
    title: str
    text: str


def ref_number(name: str) -> int | None:
    """Return the number of a session ref (`L3` → 3), or None."""
    match = _REF.fullmatch(name.strip())
    return int(match[1]) if match else None


def match_snippet(snippet: str, seen: Sequence[Seen]) -> list[Seen]:
    """Return the entries that a snippet may mean, best first: one if it is clear, several if it is not, none if nothing fits.

    Entries that contain the snippet word for word go before those that are only similar.
    """
    wanted = fold(snippet)
    if not wanted:
        return []
    exact = [lore for lore in seen if f" {wanted} " in f" {fold(lore.text)} " or wanted in fold(lore.title)]
    if exact:
        titled = [lore for lore in exact if fold(lore.title) == wanted]
        return titled if len(titled) == 1 else exact
    scored = sorted(((similarity(wanted, lore), lore) for lore in seen), key=lambda pair: -pair[0])
    close = [(score, lore) for score, lore in scored if score >= CLOSE_ENOUGH]
    return [lore for score, lore in close if score >= close[0][0] - CLEAR_LEAD]


def similarity(wanted: str, lore: Seen) -> float:
    """Return how much of the (folded) snippet an entry says, 0..1: shared words, or likeness to its title if that is more."""
    from difflib import SequenceMatcher

    words, said = set(wanted.split()), set(fold(lore.text).split())
    shared = sum(word in said or _is_inflected(word, said) for word in words) / len(words)
    enough = shared if len(words) >= 3 else 0.0
    return max(enough, SequenceMatcher(None, wanted, fold(lore.title)).ratio())


def _is_inflected(word: str, said: set[str]) -> bool:
    """Return whether some word differs from `word` in its ending alone: `consumers` and `consumer`."""
    if len(word) < _INFLECTED:
        return False
    stem = word[: max(_INFLECTED - 1, len(word) - _ENDING)]
    return any(other.startswith(stem) and abs(len(other) - len(word)) <= _ENDING for other in said)


def fold(text: str) -> str:
    """Lower-case words separated by single spaces, nothing else."""
    return " ".join(re.findall(r"\w+", text.lower()))
