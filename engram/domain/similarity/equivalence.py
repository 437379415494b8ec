"""Compare texts in nearly the same words: to say the same, numbers, negations, names and words have to agree.

The cosine of word vectors does not see these: more than four in five texts with every number changed and the verb negated
stay above the threshold for duplicates, and so do long texts in which one word was replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from engram.domain.text.content_words import (
    NEGATIONS,
    NUMERALS,
    OPPOSITES,
    WORD,
    difference,
    wording,
    words_in,
)
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME, DUPLICATE, CONTRADICTION = "same", "duplicate", "contradiction"
SURE = 0.76  # the least strength at which merging two duplicates may be proposed
LIKELY = (
    0.4  # the least strength at which people are shown a contradiction: three of four labelled pairs are one
)
NEAR = 0.92  # from this cosine, two entries of a category are assumed to have one subject

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,:]\d+)*(?![\d])")
# Names that a program reads: `code`, --flags, paths, dotted.names, snake_case, camelCase, CONSTANTS, v1 and E404.
_NAME = re.compile(
    r"`[^`\n]+`|--?[A-Za-z][\w-]*|(?<![\w.~-])[\w.~-]*[/\\][\w./\\~-]+"
    r"|(?<!\w)(?:\w+(?:[._:@]+\w+)+|[A-Za-z]*[a-z][A-Z]\w*|[A-Z][A-Z0-9]+\b|[A-Za-z]+\d\w*)"
)
_CAPITALISED = re.compile(r"\b[A-Z][a-z]\w*")
_CACHED_TEXTS = 64  # one text is compared with many in turn, and shown again by the next query
_MARGIN = 64  # characters before a word that are searched for the end of the previous sentence

_POLES: dict[str, list[tuple[int, bool]]] = {}
for _line, _sides in enumerate(OPPOSITES):
    for _pole, _words in enumerate(_sides):
        for _pole_word in _words:
            _POLES.setdefault(_pole_word, []).append((_line, bool(_pole)))


class Verdict(NamedTuple):
    """`kind` is same, duplicate (a person has to decide) or contradiction; `why` says what differs, in a clause."""

    kind: str
    why: str = ""


def compare(one: str, other: str) -> Verdict:
    """Compare two texts that are near each other by their words. The kind is symmetric."""
    if one == other:
        return Verdict(SAME)
    first, second = extract_facts(one), extract_facts(other)
    if first.negations != second.negations:
        return Verdict(CONTRADICTION, "one negates what the other says")
    opposed = opposite(first, second)
    if opposed:
        return Verdict(CONTRADICTION, opposed)
    if first.numbers != second.numbers:
        only, others = surplus(first.numbers, second.numbers), surplus(second.numbers, first.numbers)
        if only and others:
            return Verdict(CONTRADICTION, f"one says {format_list(only)}, the other {format_list(others)}")
        if only or others:
            return Verdict(DUPLICATE, f"only one of them says {format_list(only or others)}")
        return Verdict(DUPLICATE, f"they say {format_list([*first.numbers])} in another order")
    missing = sorted({*first.names} - second.parts | {*second.names} - first.parts)
    if missing:
        return Verdict(DUPLICATE, f"only one of them names {format_list(missing)}")
    shared = {*first.names} & {*second.names}
    orders = [[name for name in facts.names if name in shared] for facts in (first, second)]
    if orders[0] != orders[1]:
        return Verdict(DUPLICATE, f"they name {format_list(orders[0])} in another order")
    differs = difference(wording(one), wording(other))
    return Verdict(DUPLICATE, differs) if differs else Verdict(SAME)


class Facts(NamedTuple):
    """The parts of a text that have to agree, numbers and names in order of use.

    `parts` are all its words and names, for a name that the other text spells differently; `poles` says on which lines
    of the table of opposites it is, and on which side.
    """

    numbers: tuple[str, ...]
    negations: int
    words: frozenset[str]
    names: tuple[str, ...]
    parts: frozenset[str]
    poles: frozenset[tuple[int, bool]]


@lru_cache(_CACHED_TEXTS)
def extract_facts(text: str) -> Facts:
    """Extract the parts of a text that have to agree."""
    count = Counter(words_in(text))
    folded = {word: word.casefold().replace("’", "'") for word in count}  # each once: texts repeat words
    present = frozenset(folded.values())
    numbers = [(found.start(), plain_number(found[0])) for found in _NUMBER.finditer(text)]
    if not present.isdisjoint(NUMERALS):
        words = ((found.start(), folded[found[0]]) for found in WORD.finditer(text))
        numbers += [(at, NUMERALS[word]) for at, word in words if word in NUMERALS]
    names = [
        (found.start(), found[0].strip("`.:").removesuffix("()").casefold()) for found in _NAME.finditer(text)
    ]
    capitalised = [
        found for found in _CAPITALISED.finditer(text) if not _begins_sentence(text, found.start())
    ]
    names += [(found.start(), found[0].casefold()) for found in capitalised]
    ordered = tuple(dict.fromkeys(name for _, name in sorted(names) if name and not _NUMBER.fullmatch(name)))
    return Facts(
        tuple(number for _, number in sorted(numbers)),
        sum(number for word, number in count.items() if folded[word].replace("'", "") in NEGATIONS),
        present,
        ordered,
        present | {*ordered} | {part for word in present if "'" in word for part in word.split("'")},
        frozenset(pole for word in present & _POLES.keys() for pole in _POLES[word]),
    )


def _begins_sentence(text: str, at: int) -> bool:
    """Test whether a sentence or line begins at a position: there, a capital letter means nothing."""
    before = text[max(0, at - _MARGIN) : at].rstrip(" \t*_\"'(#>-")
    return before[-1:] in ".!?:\n"  # true for an empty string, too


def is_shown(kind: str, strength: float, cosine: float) -> bool:
    """Test whether people are shown a pair, given its assessment and the cosine of the texts.

    A contradiction has to be likely, as hardly any is one in a store of facts with figures.
    """
    return kind != CONTRADICTION or strength >= LIKELY or cosine >= NEAR


def may_merge(kind: str, strength: float, one: str, other: str) -> bool:
    """Test whether merging a pair may be proposed, given its assessment: a merge loses what only one of them says.

    It may not if each text has a number of its own, however similar their words: `service 4` is not `service 1`.
    docs/curation.md has the cost of these rules.
    """
    if kind != DUPLICATE or strength < SURE:
        return kind == SAME
    first, second = ({*extract_facts(text).numbers} for text in (one, other))
    return first <= second or second <= first


def plain_number(number: str) -> str:
    """Return a number in one notation: without a plus sign and thousands separators."""
    text = number.lstrip("+")
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+", text):
        text = text.replace(",", "")
    return text.replace(",", ".")


def opposite(one: Facts, other: Facts) -> str:
    """Return a clause on the first opposites that the texts have, one each; "" if there are none."""
    if one.poles.isdisjoint((line, not pole) for line, pole in other.poles):
        return ""
    for line, pole in sorted(one.poles):
        opposed = line, not pole
        if opposed in other.poles and opposed not in one.poles and (line, pole) not in other.poles:
            words = [OPPOSITES[line][pole] & one.words, OPPOSITES[line][not pole] & other.words]
            return f"one says {min(words[0])}, the other {min(words[1])}"
    return ""


def surplus(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the items that `one` has more often than `other`."""
    rest = list(other)
    found = []
    for item in one:
        if item in rest:
            rest.remove(item)
        else:
            found.append(item)
    return found


def format_list(items: list[str]) -> str:
    """Return the first three items, for a clause."""
    return ", ".join(items[:3]) + (" …" if len(items) > 3 else "")


class RecentText(NamedTuple):
    """A recent entry, for comparisons: id, title, path, searchable text and its words, content, status and category."""

    id: str
    title: str
    path: str
    text: str
    words: frozenset[str]
    content: str
    status: str
    category: str
