"""What two lore are to each other: the same, duplicates, contradicting or neither, with a strength and the reason.

No rule alone can tell: the cosines of duplicates, near misses and contradictions are alike. So a few features of a
pair are weighed, by weights learnt from labelled pairs (engram.domain.similarity.pair_weights). docs/curation.md has the figures.
"""

from __future__ import annotations

import math
from itertools import islice

from engram.domain.similarity.claims import Claim, claim, stems_in
from engram.domain.similarity.equivalence import (
    CONTRADICTION,
    DUPLICATE,
    NEAR,
    SAME,
    compare,
    listed,
    opposite,
)
from engram.domain.similarity.pair_weights import BARS, WEIGHTS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

UNRELATED = "unrelated"
KINDS = (SAME, DUPLICATE, CONTRADICTION, UNRELATED)
_OWN = 32  # words of one text, the rarest, that are looked for in the other
_ENOUGH = 30  # the weight of shared words above which more proves nothing: about five rare words
_SHORT = 0.6  # the length of 19 different words that carry meaning
_HALF = 0.45
# What duplicates share at least, from 11 different words on: of 19 a quarter, of 29 nearly half.
_ANY_SHARE, _SHARED_WITH_LENGTH, _MORE_BY_NUMBER = 0.5, 2.5, 0.13
_TINY = 1e-9
# Features that take long to work out: the nearness of words, what names and numbers say, and single clauses.
_KIN = ("kin", "kin_most")
_SAID = ("names_shared", "names_apart", "number_alone", "opposites", "numbers_apart")
_DENIED = ("polarity", "value")
_AGAINST = ("polarity", "opposites", "value", "numbers_apart")  # what counts as far as a subject is shared
_NOMINAL = 1000  # word frequencies count as in a store of so many lore: a large store makes no word rarer


class Features(NamedTuple):
    """What is known of a pair, each about 0..1. Shares are of the weight of rare words.

    `covered` and `common` are the shared words as a share of the shorter and of the longer text; `evidence` says how
    much is shared at all, `length` how long the shorter text is. Squares let a middle be likelier than both ends: what
    has nearly every word in common differs in what counts more often than it repeats. `kin` and `kin_most` say how
    near the words that only one text has are to some word of the other (in the text where they are less near, and in
    the one where they are nearer). What speaks against (from `polarity` to `numbers_apart`) counts as far as there is a
    common subject.
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
    """One text of a pair: the text, taken apart, its category, and the terms of its tags, files and entities.

    `weights` are those of its stems, `weight` their sum; `ranked` its words with weight and stem, the rarest first.
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
    """Two lore by their ids, the older first; `kind` is same, duplicate or contradiction, `why` a clause for people.

    `strength` is 0..1; `cosine` that of their contents, by the bundled model. Those of kind same may be folded unasked.
    """

    one: str
    other: str
    kind: str
    strength: float
    why: str
    cosine: float


class Words(NamedTuple):
    """What a store knows of words.

    `weight` is a stem's weight by its rarity; `nearness` takes words of one text and all of the other (see Claim.words) and
    gives for each of the first the cosine of the nearest of the others.
    """

    weight: Callable[[str], float]
    nearness: Callable[[Sequence[str], Mapping[str, str]], Sequence[float]]


def rarity(frequency: int, total: int) -> float:
    """The weight of a word that `frequency` of `total` lore say.

    What one lore alone says may be rare or not; what two of fifty say is rather common.
    """
    expected = 1 + (frequency - 1) * _NOMINAL / max(1, total) if frequency else 0
    return max(0.0, math.log((_NOMINAL + 1) / (expected + 0.5)))  # hardly below 0 where nearly all say it


def side(text: str, category: str, words: Words, further: str = "") -> Side:
    """Take one text of a pair apart; `further` are its tags, files and entities, as one text."""
    found = claim(text)
    weights = {stem: words.weight(stem) for stem in found.stems}
    ranked = sorted([(weights[stem], word, stem) for word, stem in found.words.items()], reverse=True)
    return Side(text, found, category, weights, sum(weights.values()), ranked, stems_in(further))


def assess(one: Side, other: Side, cosine: float, words: Words) -> Assessment:
    """What two lore are to each other. Symmetric but for the clause. `cosine` is that of the two texts."""
    verdict = compare(one.text, other.text) if cosine >= NEAR else None
    if verdict is not None and verdict.kind == SAME and one.category == other.category:
        return Assessment(SAME, 1.0, "they say the same in nearly the same words")
    so_near = verdict is not None and one.category == other.category
    found = _by_words(one, other, cosine, words)
    strengths = _at_most(found, _KIN + _SAID + _DENIED)
    possible = [*BARS] if so_near or shares_enough(one, other) else [CONTRADICTION]
    if so_near or _proposed(strengths, possible):
        found = _by_kin(found, one, other, words)
        strengths = _at_most(found, _SAID + _DENIED)
    if so_near or _proposed(strengths, possible):
        found = _by_names(found, one.claim, other.claim)
        strengths = _at_most(found, _DENIED)
    if so_near or _proposed(strengths, possible):
        found = _by_clauses(found, one, other, words)
        strengths = _at_most(found, ())
    kind = max(strengths, key=lambda kind: strengths[kind] / BARS[kind])
    if not so_near and (kind not in possible or strengths[kind] < BARS[kind]):
        return Assessment(UNRELATED, round(1 - max(strengths.values()), 3), "too little speaks for more")
    why = _why_against(one, other, found) if kind == CONTRADICTION else ""
    return Assessment(kind, round(strengths[kind], 3), why or _why_alike(one, other, words))


def likelihood(kind: str, found: Features) -> float:
    """How likely a pair with these features is a duplicate or a contradiction, by the labelled pairs: 0..1."""
    weights = WEIGHTS[kind]
    total = weights["constant"] + sum(
        weights[name] * value for name, value in zip(Features._fields, found, strict=True)
    )
    return 1 / (1 + math.exp(-total))


def features(one: Side, other: Side, cosine: float, words: Words) -> Features:
    """The features of a pair."""
    found = _by_kin(_by_words(one, other, cosine, words), one, other, words)
    found = _by_names(found, one.claim, other.claim)
    return _by_clauses(found, one, other, words)


def _by_words(one: Side, other: Side, cosine: float, words: Words) -> Features:
    """The features that take no more than to count the words that both say; the others are 0."""
    together, extra = _together(one, other, words)
    weights = [one.weight + extra, other.weight + extra]
    common = together / max(*weights, _TINY)
    covered = together / max(min(weights), _TINY)
    length = _length(one, other)
    long = max(0.0, length - _SHORT)
    return Features(
        cosine=cosine,
        cosine_squared=cosine * cosine,
        covered=covered,
        common=common,
        common_squared=common * common,
        evidence=math.log1p(min(together, _ENOUGH)) / math.log1p(_ENOUGH),
        length=length,
        long=long,
        thin=min(1.0, 10 * long * max(0.0, _HALF - covered)),
    )


def _by_kin(found: Features, one: Side, other: Side, words: Words) -> Features:
    """The same with how near the words are to one another that only one text has."""
    kin = [_kinship(one, other.claim, words), _kinship(other, one.claim, words)]
    return found._replace(kin=min(kin), kin_most=max(kin))


def _by_names(found: Features, first: Claim, second: Claim) -> Features:
    """The same with the features of names, numbers and opposites."""
    names = {*first.said.names, *second.said.names}
    own = [{*first.said.names} - second.said.parts, {*second.said.names} - first.said.parts]
    fewest = min(len(first.said.names), len(second.said.names))
    numbers = [[*_left_over(first, second)], [*_left_over(second, first)]]
    ground = _ground(found)
    return found._replace(
        names_shared=min(1.0, len(names & first.said.parts & second.said.parts) / max(2, fewest)),
        names_apart=min(
            len(own[0]) / max(1, len(first.said.names)), len(own[1]) / max(1, len(second.said.names))
        ),
        opposites=ground * bool(opposite(first.said, second.said)),
        numbers_apart=ground * all(numbers),
        number_alone=float(any(numbers) and not all(numbers)),
    )


def _by_clauses(found: Features, one: Side, other: Side, words: Words) -> Features:
    """The same with the features for which each clause has to be looked at."""
    against = turned(one.claim, other.claim)
    ground = _ground(found)
    polarity = _weight(words, against) / max(_together(one, other, words)[0], _TINY) if against else 0.0
    return found._replace(polarity=ground * polarity, value=ground * bool(clash(one.claim, other.claim)))


def _together(one: Side, other: Side, words: Words) -> tuple[float, float]:
    """The weight of what two share, and how much of it only their tags, files and entities do."""
    shared = one.claim.stems & other.claim.stems
    extra = _weight(words, one.terms & other.terms - shared)  # what is tagged alike can only speak for a pair
    return sum(map(one.weights.__getitem__, shared)) + extra, extra


def _ground(found: Features) -> float:
    """How far two share a subject: what hardly do, do not contradict each other about it."""
    return min(1.0, found.covered / _HALF) ** 2


def _at_most(found: Features, unknown: Sequence[str]) -> dict[str, float]:
    """For each kind what `likelihood` can be at most, whatever the features are that were not worked out yet."""
    ground = _ground(found) + _TINY
    most = {name: ground if name in _AGAINST else 1.0 for name in unknown}
    return {
        kind: likelihood(kind, found._replace(**{name: most[name] for name in unknown if weights[name] > 0}))
        for kind, weights in WEIGHTS.items()
    }


def _proposed(strengths: Mapping[str, float], possible: Sequence[str]) -> bool:
    return any(strengths[kind] >= BARS[kind] for kind in possible)


def shares_enough(one: Side, other: Side) -> bool:
    """Whether two texts share as much as duplicates of their length do: the longer, the likelier only a topic is shared.

    By the weight of their words, or, as no word is rare in a small store, by somewhat more of their number. Tags and
    files do not count: those of a topic are alike.
    """
    stems = one.claim.stems, other.claim.stems
    shared, fewest = stems[0] & stems[1], max(1, min(map(len, stems)))
    weight = sum(map(one.weights.__getitem__, shared)) / max(min(one.weight, other.weight), _TINY)
    least = max(0.0, min(_HALF, _SHARED_WITH_LENGTH * (_length(one, other) - _ANY_SHARE)))
    return weight >= least or len(shared) / fewest >= least + _MORE_BY_NUMBER


def _length(one: Side, other: Side) -> float:
    """How long the shorter text is: 1 for about 150 different words."""
    return math.log1p(min(len(one.claim.words), len(other.claim.words))) / 5


def turned(one: Claim, other: Claim) -> frozenset[str]:
    """The words that one text only negates and the other never does."""
    return (one.negated - one.plain) & (other.plain - other.negated) | (other.negated - other.plain) & (
        one.plain - one.negated
    )


def clash(one: Claim, other: Claim) -> str:
    """The first key that both give numbers for, and none in common; empty where there is none."""
    return next(
        (key for key in one.values if one.values[key].isdisjoint(other.values.get(key, one.values[key]))), ""
    )


def _kinship(one: Side, other: Claim, words: Words) -> float:
    """How near the words that only the first text has are to some word of the other, weighed by rarity; 1 without any."""
    own = list(islice((found for found in one.ranked if found[2] not in other.stems), _OWN))
    if not own or not other.words:
        return 1.0 if not own else 0.0
    nearness = words.nearness([word for _, word, _ in own], other.words)
    weights = [weight for weight, _, _ in own]
    return sum(map(float.__mul__, weights, nearness)) / max(sum(weights), _TINY)


def _left_over(one: Claim, other: Claim) -> Iterable[str]:
    rest = list(other.said.numbers)
    for number in one.said.numbers:
        if number in rest:
            rest.remove(number)
        else:
            yield number


def _weight(words: Words, stems: Iterable[str]) -> float:
    return sum(map(words.weight, stems))


def _why_against(one: Side, other: Side, found: Features) -> str:
    first, second = one.claim, other.claim
    key = clash(first, second)
    if key:
        values = [key.replace("…", min(claim.values[key])) for claim in (first, second)]
        return f"one says {values[0]}, the other {values[1]}"
    against = opposite(first.said, second.said)
    if against:
        return against
    if found.polarity:
        about = [word for word, stem in first.words.items() if stem in turned(first, second)]
        return f"one negates what the other says of {listed(about)}"
    if found.numbers_apart:
        numbers = [listed([*_left_over(first, second)]), listed([*_left_over(second, first)])]
        return f"one says {numbers[0]}, the other {numbers[1]}"
    own = [
        [word for _, word, stem in side.ranked if stem not in stems][:3]
        for side, stems in ((one, second.stems), (other, first.stems))
    ]
    return f"nearly the same is said of {listed(own[0])} as of {listed(own[1])}" if all(own) else ""


def _why_alike(one: Side, other: Side, words: Words) -> str:
    shared = one.claim.stems & other.claim.stems
    said = (
        one.claim.said.words & other.claim.said.words
    )  # what both say in sentences tells more than what code says
    names = sorted(
        {stem: word for word, stem in one.claim.words.items() if stem in shared and word.isalpha()}.items(),
        key=lambda item: (item[1] not in said, -words.weight(item[0]), item[0]),
    )
    return f"both are about {listed([word for _, word in names[:3]])}" if names else "their meaning is near"
