"""Find the entries that a person or agent means by a few words of them."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CLOSE_ENOUGH = 0.6
CLEAR_LEAD = 0.1
MIN_PREFIX = 4
_MIN_INFLECTED = 5
_MAX_ENDING = 3
_REF = re.compile(r"[Ll](\d{1,6})")


class Seen(NamedTuple):
    """An entry shown in the session."""

    id: str
    title: str
    text: str


def ref_number(name: str) -> int | None:
    """Return the number of a session ref (`L3` → 3), or None."""
    match = _REF.fullmatch(name.strip())
    return int(match[1]) if match else None


def match_snippet(snippet: str, seen: Sequence[Seen]) -> list[Seen]:
    """Return the entries that a snippet may mean, best first: one if it is clear, several if not, none if nothing matches.

    Entries that contain the snippet verbatim take precedence over similar ones.
    """
    folded = fold(snippet)
    if not folded:
        return []
    exact = [lore for lore in seen if f" {folded} " in f" {fold(lore.text)} " or folded in fold(lore.title)]
    if exact:
        titled = [lore for lore in exact if fold(lore.title) == folded]
        return titled if len(titled) == 1 else exact
    scored = sorted(((similarity(folded, lore), lore) for lore in seen), key=lambda pair: -pair[0])
    close = [(score, lore) for score, lore in scored if score >= CLOSE_ENOUGH]
    return [lore for score, lore in close if score >= close[0][0] - CLEAR_LEAD]


def similarity(folded: str, lore: Seen) -> float:
    """Return how well an entry matches the (folded) snippet, 0..1: the share of common words, or the similarity of its title."""
    from difflib import SequenceMatcher

    words, entry_words = set(folded.split()), set(fold(lore.text).split())
    shared = sum(word in entry_words or _is_inflected(word, entry_words) for word in words) / len(words)
    word_score = shared if len(words) >= 3 else 0.0
    return max(word_score, SequenceMatcher(None, folded, fold(lore.title)).ratio())


def _is_inflected(word: str, entry_words: set[str]) -> bool:
    """Whether some word differs from `word` only in its ending: `consumers` and `consumer`."""
    if len(word) < _MIN_INFLECTED:
        return False
    stem = word[: max(_MIN_INFLECTED - 1, len(word) - _MAX_ENDING)]
    return any(other.startswith(stem) and abs(len(other) - len(word)) <= _MAX_ENDING for other in entry_words)


def fold(text: str) -> str:
    """Reduce a text to its words in lower case, separated by single spaces."""
    return " ".join(re.findall(r"\w+", text.lower()))
