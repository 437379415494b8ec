"""A text parsed for comparison with others: its words, names, numbers with their keys, and negations."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from engram.domain.similarity.equivalence import Facts, extract_facts, plain_number
from engram.domain.text.content_words import NEGATIONS, NUMERALS, stem, words_in
from engram.domain.text.prose import prose, without_parameters
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CLAUSE = re.compile(r"[,;:.!?](?=\s|$)|\n| but | and | which | so | because | unless ")
_MARKS = re.compile(r"[`\"'*]")
_VALUE = re.compile(r"(?:(?<!\S)(\S+)\s+)?(?<![\w.])(\d+(?:[.,:]\d+)*)\s*([A-Za-z%]+)?")
_UNITS = {
    "s": "second", "sec": "second", "secs": "second", "h": "hour", "hrs": "hour", "min": "minute", "mins": "minute",
    "milliseconds": "ms", "kib": "kb", "mib": "mb", "gib": "gb",
}  # fmt: skip


class Claim:
    """A parsed text; each part is computed on first use, as words alone tell most pairs apart.

    `words` maps each word but stop words and negations to its stem, in order of first use; `stems` are these stems.
    """

    def __init__(self, text: str) -> None:
        """Parse the words only."""
        self._text = text
        self._all_words = {word: stem_of(word) for word in words_in(_fold_text(without_parameters(text)))}
        self.words: Mapping[str, str] = {word: stem for word, stem in self._all_words.items() if stem}
        self.stems = frozenset(self.words.values())

    @cached_property
    def facts(self) -> Facts:
        """The numbers, names and opposites in its sentences."""
        return extract_facts(self._prose)

    @cached_property
    def values(self) -> Mapping[str, frozenset[str]]:
        """The numbers by key: the word before a number, and its unit."""
        return _values(self._prose)

    @property
    def negated(self) -> frozenset[str]:
        """The stems in negated clauses; a stem may also be in `plain`."""
        return self._clauses[0]

    @property
    def plain(self) -> frozenset[str]:
        """The stems in clauses that are not negated."""
        return self._clauses[1]

    @cached_property
    def _prose(self) -> str:
        return prose(self._text)

    @cached_property
    def _clauses(self) -> tuple[frozenset[str], frozenset[str]]:
        negations = {word for word in self._all_words if word.replace("'", "") in NEGATIONS}
        if not negations:
            return frozenset(), self.stems
        clauses = [words_in(clause) for clause in _CLAUSE.split(_fold_text(self._prose))]
        negated = [clause for clause in clauses if _is_negated(clause, negations)]
        if not negated:
            return frozenset(), self.stems
        plain = [clause for clause in clauses if not _is_negated(clause, negations)]
        return self._stems(negated), self._stems(plain)

    def _stems(self, clauses: Sequence[Sequence[str]]) -> frozenset[str]:
        return frozenset(self.words[word] for clause in clauses for word in clause if word in self.words)


def _fold_text(text: str) -> str:
    return text.casefold().replace("’", "'")


def _is_negated(clause: Sequence[str], negations: set[str]) -> bool:
    """Test whether a clause has an odd number of negations: two cancel each other."""
    return not negations.isdisjoint(clause) and sum(word in negations for word in clause) % 2 == 1


def stems_in(text: str) -> frozenset[str]:
    """Return the stems of the words of a text, without stop words and negations."""
    return frozenset(stem for word in words_in(_fold_text(text)) if (stem := stem_of(word)))


@lru_cache(1 << 16)
def stem_of(word: str) -> str:
    """Return the stem of a case-folded word; "" for a stop word or a negation."""
    name = word.removesuffix("'s")
    base = name.split("'")[0]
    if name in STOP_WORDS or base in STOP_WORDS or name.replace("'", "") in NEGATIONS:
        return ""
    return stem(base)


def _values(text: str) -> dict[str, frozenset[str]]:
    """Return the numbers of each key: a word before a number ("python 3.11") or its unit ("5 seconds")."""
    digits = " ".join(NUMERALS.get(word.casefold(), word) for word in _MARKS.sub(" ", text).split())
    found: dict[str, set[str]] = {}
    for before, number, after in _VALUE.findall(digits):
        unit = _UNITS.get(after.casefold(), after.casefold())
        if unit and unit not in STOP_WORDS:
            found.setdefault(f"… {unit[:-1] if unit[-1] == 's' and len(unit) > 3 else unit}", set()).add(
                plain_number(number)
            )
        name = re.sub(r"\W", "", before.casefold())
        if name and name not in STOP_WORDS:
            found.setdefault(f"{name} …", set()).add(plain_number(number))
    return {key: frozenset(numbers) for key, numbers in found.items()}
