"""Assess how two entries relate: the same, duplicates, a contradiction or unrelated, with a strength and the reason.

No single rule can tell: duplicates, near misses and contradictions have similar cosines. So a few features of a pair are
combined with weights learnt from labelled pairs (engram.domain.similarity.pair_weights). docs/curation.md has the figures.
"""

from __future__ import annotations

import math
from itertools import islice

from engram.domain.similarity.claims import Claim, stems_in
from engram.domain.similarity.equivalence import (
    CONTRADICTION,
    DUPLICATE,
    NEAR,
    SAME,
    compare,
    format_list,
    opposite,
    surplus,
)
from engram.domain.similarity.pair_weights import BARS, TWIN_BAR, TWIN_WEIGHTS, WEIGHTS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

UNRELATED = "unrelated"
KINDS = (SAME, DUPLICATE, CONTRADICTION, UNRELATED)
_MAX_COMPARED = 32  # words of one text, the rarest, that are compared with those of the other
_MAX_EVIDENCE = 30  # the weight of shared words above which more proves nothing: about five rare words
_SHORT = 0.6  # the length of 19 different meaningful words
_HALF = 0.45
# The least share of common words of duplicates, from 11 different words on: a quarter of 19, nearly half of 29.
_ANY_SHARE_LENGTH, _SHARE_PER_LENGTH, _MORE_BY_NUMBER = 0.5, 2.5, 0.13
# Notes of more different words than this, twice those of the longest labelled text, share a third of them with others on
# their topic. They are proposed only as versions of one text: if they share this part of all words.
_LONGEST_LABELLED, _VERSION_SHARE = 54, 0.4
_TINY = 1e-9
# Features that are expensive to compute: nearness of words; names, numbers and opposites; single clauses.
_KIN = ("kin", "kin_most")
_NAMES = ("names_shared", "names_apart", "number_alone", "opposites", "numbers_apart")
_CLAUSES = ("polarity", "value")
# These are scaled by how far the two share a subject.
_AGAINST = ("polarity", "opposites", "value", "numbers_apart")
# Word frequencies are scaled to a store of this many entries: words are not rarer in a large store.
_NOMINAL = 1000


class Features(NamedTuple):
    """The features of a pair, each about 0..1. Words are weighted by their rarity.

    `covered` and `common` are the shared words as a share of the shorter and of the longer text; `evidence` says how much
    is shared in total, `length` how long the shorter text is. Squares let a middle value be likelier than both ends: if two
    texts have nearly all words in common, the difference usually matters. `kin` and `kin_most` say how near the words of
    only one text are to a word of the other: the lower and the higher value of the two texts. Features against (`_AGAINST`)
    are scaled by how far the two share a subject.
    """

    cosine: float
    cosine_squared: float
    covered: float
    common: float
    common_squared: float
    evidence: float
    length: float
    long: float
    thin: float
    names_shared: float = 0.0
    names_apart: float = 0.0
    kin: float = 0.0
    kin_most: float = 0.0
    polarity: float = 0.0
    opposites: float = 0.0
    value: float = 0.0
    numbers_apart: float = 0.0
    number_alone: float = 0.0


class Side(NamedTuple):
    """One text of a pair, parsed, with its category and the terms of its tags, files and entities.

    `weights` are those of its stems, `weight` their sum; `ranked` are its words with weight and stem, rarest first.
    """

    text: str
    claim: Claim
    category: str
    weights: Mapping[str, float]
    weight: float
    ranked: Sequence[tuple[float, str, str]]
    terms: frozenset[str] = frozenset()


class Assessment(NamedTuple):
    """`kind` is one of KINDS; `strength` 0..1 grows with the certainty; `why` is a clause for people."""

    kind: str
    strength: float
    why: str


class Pair(NamedTuple):
    """Two entries by their ids, the older first; `kind` is same, duplicate or contradiction, `why` a clause for people.

    `strength` is 0..1; `cosine` is that of their contents in the bundled model. Pairs of kind same may be folded without
    asking.
    """

    one: str
    other: str
    kind: str
    strength: float
    why: str
    cosine: float


class Words(NamedTuple):
    """The weights and the nearness of words in a store.

    `weight` returns the weight of a stem by its rarity; `nearness` takes words of one text and all words of the other
    (Claim.words) and returns for each of the first the cosine of the nearest other word.
    """

    weight: Callable[[str], float]
    nearness: Callable[[Sequence[str], Mapping[str, str]], Sequence[float]]


class KeptWords(NamedTuple):
    """Cached `words` of a store, from when its `word_index` had `total` entries."""

    word_index: object
    total: int
    words: Words


def rarity(frequency: int, total: int) -> float:
    """Return the weight of a word that `frequency` of `total` entries have.

    A word of a single entry may or may not be rare; a word of two in fifty is rather common.
    """
    expected = 1 + (frequency - 1) * _NOMINAL / max(1, total) if frequency else 0
    return max(0.0, math.log((_NOMINAL + 1) / (expected + 0.5)))  # just below 0 if nearly all have it


def side(text: str, category: str, words: Words, further: str = "") -> Side:
    """Parse one text of a pair; `further` has its tags, files and entities, as one text."""
    found = Claim(text)
    weights = {stem: words.weight(stem) for stem in found.stems}
    ranked = sorted([(weights[stem], word, stem) for word, stem in found.words.items()], reverse=True)
    return Side(text, found, category, weights, sum(weights.values()), ranked, stems_in(further))


def assess(one: Side, other: Side, cosine: float, words: Words) -> Assessment:
    """Assess how two entries relate, given the cosine of their texts. Symmetric but for the clause.

    Cheap features come first; the others are computed only while the pair may still be proposed.
    """
    return _assess_features(one, other, cosine, words)[0]


def _assess_features(one: Side, other: Side, cosine: float, words: Words) -> tuple[Assessment, Features]:
    """Return the assessment and the features: all of them if the pair is proposed."""
    verdict = compare(one.text, other.text) if cosine >= NEAR else None
    found = _by_words(one, other, cosine, words)
    if verdict is not None and verdict.kind == SAME and one.category == other.category:
        return Assessment(SAME, 1.0, "they say the same in nearly the same words"), found
    so_near = verdict is not None and one.category == other.category
    strengths = _at_most(found, _KIN + _NAMES + _CLAUSES)
    possible = (
        [*BARS] if so_near or shares_enough(one, other) else [] if _is_long(one, other) else [CONTRADICTION]
    )
    if so_near or _is_proposed(strengths, possible):
        found = _by_kin(found, one, other, words)
        strengths = _at_most(found, _NAMES + _CLAUSES)
    if so_near or _is_proposed(strengths, possible):
        found = _by_names(found, one.claim, other.claim)
        strengths = _at_most(found, _CLAUSES)
    if so_near or _is_proposed(strengths, possible):
        found = _by_clauses(found, one, other, words)
        strengths = _at_most(found, ())
    kind = max(strengths, key=lambda kind: strengths[kind] / BARS[kind])
    if not so_near and (kind not in possible or strengths[kind] < BARS[kind]):
        unlikely = round(1 - max(strengths.values()), 3)
        return Assessment(UNRELATED, unlikely, "too little speaks for more"), found
    why = _why_against(one, other, found) if kind == CONTRADICTION else ""
    return Assessment(kind, round(strengths[kind], 3), why or _why_alike(one, other, words)), found


def likelihood(kind: str, found: Features) -> float:
    """Return the likelihood (0..1) that a pair with these features is of this kind, by the labelled pairs."""
    return _logistic(WEIGHTS[kind], found)


def certainty(one: Side, other: Side, cosine: float, words: Words) -> float:
    """Return how sure it is that two entries say the same, 0..1; 0 if that is too unsure to mention when one is recorded.

    The weights differ from those for proposals to people: they favour few false alarms over few omissions.
    """
    pair, found = _assess_features(one, other, cosine, words)
    if pair.kind != DUPLICATE:
        return pair.strength if pair.kind == SAME else 0.0
    certain = _logistic(TWIN_WEIGHTS, found)
    return round(certain, 3) if certain >= TWIN_BAR else 0.0


def _logistic(weights: Mapping[str, float], found: Features) -> float:
    total = weights["constant"] + sum(
        weights[name] * value for name, value in zip(Features._fields, found, strict=True)
    )
    return 1 / (1 + math.exp(-total))


def features(one: Side, other: Side, cosine: float, words: Words) -> Features:
    """Return all features of a pair."""
    found = _by_kin(_by_words(one, other, cosine, words), one, other, words)
    found = _by_names(found, one.claim, other.claim)
    return _by_clauses(found, one, other, words)


def _by_words(one: Side, other: Side, cosine: float, words: Words) -> Features:
    """Return the features that need only the shared words; the others are 0."""
    shared, extra = _shared_weight(one, other, words)
    weights = [one.weight + extra, other.weight + extra]
    common = shared / max(*weights, _TINY)
    covered = shared / max(min(weights), _TINY)
    length = _length(one, other)
    long = max(0.0, length - _SHORT)
    return Features(
        cosine=cosine,
        cosine_squared=cosine * cosine,
        covered=covered,
        common=common,
        common_squared=common * common,
        evidence=math.log1p(min(shared, _MAX_EVIDENCE)) / math.log1p(_MAX_EVIDENCE),
        length=length,
        long=long,
        thin=min(1.0, 10 * long * max(0.0, _HALF - covered)),
    )


def _by_kin(found: Features, one: Side, other: Side, words: Words) -> Features:
    """Add how near the words of only one text are to those of the other."""
    kin = [_kinship(one, other.claim, words), _kinship(other, one.claim, words)]
    return found._replace(kin=min(kin), kin_most=max(kin))


def _by_names(found: Features, first: Claim, second: Claim) -> Features:
    """Add the features of names, numbers and opposites."""
    names = {*first.facts.names, *second.facts.names}
    own = [{*first.facts.names} - second.facts.parts, {*second.facts.names} - first.facts.parts]
    fewest = min(len(first.facts.names), len(second.facts.names))
    numbers = _different_numbers(first, second)
    subject = _common_subject(found)
    return found._replace(
        names_shared=min(1.0, len(names & first.facts.parts & second.facts.parts) / max(2, fewest)),
        names_apart=min(
            len(own[0]) / max(1, len(first.facts.names)), len(own[1]) / max(1, len(second.facts.names))
        ),
        opposites=subject * bool(opposite(first.facts, second.facts)),
        numbers_apart=subject * all(numbers),
        number_alone=float(any(numbers) and not all(numbers)),
    )


def _by_clauses(found: Features, one: Side, other: Side, words: Words) -> Features:
    """Add the features that need each clause parsed."""
    opposed = opposed_stems(one.claim, other.claim)
    subject = _common_subject(found)
    polarity = _weight(words, opposed) / max(_shared_weight(one, other, words)[0], _TINY) if opposed else 0.0
    return found._replace(
        polarity=subject * polarity, value=subject * bool(conflicting_key(one.claim, other.claim))
    )


def _shared_weight(one: Side, other: Side, words: Words) -> tuple[float, float]:
    """Return the weight of shared stems, and the part of it that is only in tags, files and entities."""
    shared = one.claim.stems & other.claim.stems
    extra = _weight(words, one.terms & other.terms - shared)  # equal tags can only be in favour
    return sum(map(one.weights.__getitem__, shared)) + extra, extra


def _common_subject(found: Features) -> float:
    """Return how far (0..1) two share a subject: texts that hardly do cannot contradict each other."""
    return min(1.0, found.covered / _HALF) ** 2


def _at_most(found: Features, unknown: Sequence[str]) -> dict[str, float]:
    """Return the highest possible `likelihood` of each kind, whatever the `unknown` features are."""
    subject = _common_subject(found) + _TINY
    most = {name: subject if name in _AGAINST else 1.0 for name in unknown}
    return {
        kind: likelihood(kind, found._replace(**{name: most[name] for name in unknown if weights[name] > 0}))
        for kind, weights in WEIGHTS.items()
    }


def _is_proposed(strengths: Mapping[str, float], possible: Sequence[str]) -> bool:
    return any(strengths[kind] >= BARS[kind] for kind in possible)


def shares_enough(one: Side, other: Side) -> bool:
    """Test whether two texts share as much as duplicates of their length do: long texts may just share a topic.

    The share is by the weight of words or, as no word is rare in a small store, by a somewhat larger part of their number.
    Tags and files do not count: those of one topic are similar.
    """
    stems = one.claim.stems, other.claim.stems
    shared, fewest = stems[0] & stems[1], max(1, min(map(len, stems)))
    if _is_long(one, other):
        return len(shared) >= _VERSION_SHARE * len(stems[0] | stems[1])
    weight = sum(map(one.weights.__getitem__, shared)) / max(min(one.weight, other.weight), _TINY)
    min_share = max(0.0, min(_HALF, _SHARE_PER_LENGTH * (_length(one, other) - _ANY_SHARE_LENGTH)))
    return weight >= min_share or len(shared) / fewest >= min_share + _MORE_BY_NUMBER


def _is_long(one: Side, other: Side) -> bool:
    """Test whether one of two texts is longer than those that the weights were learnt from."""
    return max(len(one.claim.words), len(other.claim.words)) > _LONGEST_LABELLED


def _length(one: Side, other: Side) -> float:
    """Return the length of the shorter text: 1 for about 150 different words."""
    return math.log1p(min(len(one.claim.words), len(other.claim.words))) / 5


def opposed_stems(one: Claim, other: Claim) -> frozenset[str]:
    """Return the stems that one text has only negated and the other only plain."""
    negated, other_negated = one.negated - one.plain, other.negated - other.plain
    return negated & (other.plain - other.negated) | other_negated & (one.plain - one.negated)


def conflicting_key(one: Claim, other: Claim) -> str:
    """Return the first key for which both have numbers, but none in common, or ""."""
    return next(
        (key for key in one.values if one.values[key].isdisjoint(other.values.get(key, one.values[key]))), ""
    )


def _kinship(one: Side, other: Claim, words: Words) -> float:
    """Return how near the words of only the first text are to words of the other, weighted by rarity; 1 if there are none."""
    own = list(islice((found for found in one.ranked if found[2] not in other.stems), _MAX_COMPARED))
    if not own or not other.words:
        return 1.0 if not own else 0.0
    nearness = words.nearness([word for _, word, _ in own], other.words)
    weights = [weight for weight, _, _ in own]
    return sum(map(float.__mul__, weights, nearness)) / max(sum(weights), _TINY)


def _different_numbers(one: Claim, other: Claim) -> tuple[list[str], list[str]]:
    """Return the numbers of only the first, and those of only the second."""
    numbers = one.facts.numbers, other.facts.numbers
    return surplus(*numbers), surplus(numbers[1], numbers[0])


def _weight(words: Words, stems: Iterable[str]) -> float:
    return sum(map(words.weight, stems))


def _why_against(one: Side, other: Side, found: Features) -> str:
    first, second = one.claim, other.claim
    key = conflicting_key(first, second)
    if key:
        values = [key.replace("…", min(claim.values[key])) for claim in (first, second)]
        return f"one says {values[0]}, the other {values[1]}"
    opposites = opposite(first.facts, second.facts)
    if opposites:
        return opposites
    if found.polarity:
        about = [word for word, stem in first.words.items() if stem in opposed_stems(first, second)]
        return f"one negates what the other says of {format_list(about)}"
    if found.numbers_apart:
        mine, theirs = map(format_list, _different_numbers(first, second))
        return f"one says {mine}, the other {theirs}"
    own = [
        [word for _, word, stem in side.ranked if stem not in stems][:3]
        for side, stems in ((one, second.stems), (other, first.stems))
    ]
    return f"nearly the same text about {format_list(own[0])} and {format_list(own[1])}" if all(own) else ""


def _why_alike(one: Side, other: Side, words: Words) -> str:
    shared = one.claim.stems & other.claim.stems
    in_prose = one.claim.facts.words & other.claim.facts.words  # tell people more than words of code
    names = sorted(
        {stem: word for word, stem in one.claim.words.items() if stem in shared and word.isalpha()}.items(),
        key=lambda item: (item[1] not in in_prose, -words.weight(item[0]), item[0]),
    )
    return (
        f"both are about {format_list([word for _, word in names[:3]])}" if names else "their meaning is near"
    )
