"""A text taken apart for comparing it with others: its words, names, numbers with their keys, and what it negates."""

from __future__ import annotations

import re

from engram.domain.equivalence import Said, plain_number, said_in
from engram.domain.polarity import NEGATIONS, NUMERALS
from engram.domain.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.domain.wording import stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CLAUSE = re.compile(r"[,;:.!?](?=\s|$)|\n| but | and | which | so | because | unless ")
_MARKS = re.compile(r"[`\"'*]")
_VALUE = re.compile(r"(?:(\S+)\s+)?(?<![\w.])(\d+(?:[.,:]\d+)*)\s*([A-Za-z%]+)?")
_UNITS = {
    "s": "second", "sec": "second", "secs": "second", "h": "hour", "hrs": "hour", "min": "minute", "mins": "minute",
    "milliseconds": "ms", "kib": "kb", "mib": "mb", "gib": "gb",
}  # fmt: skip


class Claim(NamedTuple):
    """What a text says. `words` maps each word that carries meaning to its stem, in order of first use.

    `negated` and `plain` are the stems in clauses with and without a negation; a stem may be in both.
    `values` are the numbers under their keys: the word before a number, and its unit.
    """

    words: Mapping[str, str]
    stems: frozenset[str]
    negated: frozenset[str]
    plain: frozenset[str]
    values: Mapping[str, frozenset[str]]
    said: Said


def claim(text: str) -> Claim:
    """Take a text apart."""
    folded = text.casefold().replace("’", "'")
    words = dict(meaningful(folded))
    negated, plain = set[str](), set[str]()
    for clause in _CLAUSE.split(folded):
        negations = sum(word.replace("'", "") in NEGATIONS for word in _WORD.findall(clause))
        (negated if negations % 2 else plain).update(stem for _, stem in meaningful(clause))
    return Claim(
        words, frozenset(words.values()), frozenset(negated), frozenset(plain), _values(text), said_in(text)
    )


def meaningful(folded: str) -> Iterator[tuple[str, str]]:
    """The words of a case-folded text that are neither stop words nor negations, each with its stem."""
    for found in _WORD.findall(folded):
        word = found.removesuffix("'s")
        if word not in STOP_WORDS and word.replace("'", "") not in NEGATIONS:
            yield word, stem(word.split("'")[0])


def _values(text: str) -> dict[str, frozenset[str]]:
    """Each key's numbers. A key is a word before a number ("python 3.11") or its unit ("5 seconds")."""
    digits = " ".join(NUMERALS.get(word.casefold(), word) for word in _MARKS.sub(" ", text).split())
    found: dict[str, set[str]] = {}
    for before, number, after in _VALUE.findall(digits):
        unit = _UNITS.get(after.casefold(), after.casefold())
        if unit and unit not in STOP_WORDS:
            found.setdefault(f"… {stem(unit)}", set()).add(plain_number(number))
        name = re.sub(r"\W", "", before.casefold())
        if name and name not in STOP_WORDS:
            found.setdefault(f"{stem(name)} …", set()).add(plain_number(number))
    return {key: frozenset(numbers) for key, numbers in found.items()}
