"""The score of an entry: words and meaning fused, weighted by the entry's standing.

relevance = (cosine + WORDS · coverage^SHARPNESS + NEAR · near) / (1 + WORDS + NEAR), where coverage = BM25 / Σ idf·(k1
+ 1) is the share of a perfect word match; the exponent makes a few matching words count for little. Dividing BM25 by
the best hit of the query instead would make that hit look perfect however little of the query it covers, and ruin
paraphrased queries. `near` is MaxSim over the vectors of single tokens (late interaction) in the best stretch of a
text, corrected for its length; it is computed for the best rows only. score = relevance · (0.9 + 0.1·standing) · path
overlap · scope weight: a bounded multiplier, because an additive mix with metadata was measured to fall below BM25
alone.
"""

from __future__ import annotations

import math
from itertools import chain, islice, repeat

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.settings import Settings

WORDS = 2.25
SHARPNESS = 1.75
NEAR = 1.0
NEAR_NEIGHBOUR = 0.9
FAR_NEIGHBOUR = 0.8
STANDING = 0.1
PATH_GAIN = 0.25
HALF_LIFE_DAYS = {"working": 0.042, "episodic": 1.0, "semantic": 7.0, "procedural": 30.0}
KIND_PRIORITY = {"semantic": 1.0, "procedural": 1.0, "episodic": 0.6, "working": 0.4}
WORDS_KEY, STANDING_KEY, HALF_LIFE_KEY, THRESHOLD_KEY = KEYS = (
    "ranking.words", "ranking.standing", "ranking.half_life", "ranking.threshold"
)  # fmt: skip
_DAY = 86_400.0
DEFAULT_IMPORTANCE = 0.5  # if neither the file nor the graph gives any


class Weights(NamedTuple):
    """The weights that a store may configure: WORDS, STANDING, and a factor on HALF_LIFE_DAYS."""

    words: float
    standing: float
    half_life: float = 1.0


def weights_of(settings: Settings) -> Weights:
    """Return the configured weights; by default exactly the measured ones."""
    words, standing = WORDS, STANDING
    if settings.differs(WORDS_KEY):
        share = settings.number(WORDS_KEY)
        words = share / (1 - share) * (1 + NEAR)
    if settings.differs(STANDING_KEY):
        standing = settings.number(STANDING_KEY)
    return Weights(words, standing, settings.number(HALF_LIFE_KEY))


class Trust(NamedTuple):
    """How evidence is computed with an embedding model: the weights of coverage and of missing words (the cosine has 1).

    `by_chance` is deducted: the excess of this model's cosines for any entry over those of the bundled model, for which
    the bounds are calibrated. `lead` is the weight of a lead in a store of this size (see `lead_weight`).
    """

    coverage: float = 0.65
    missing: float = 1.5
    by_chance: float = 0.0
    lead: float = 1.0


BUNDLED = Trust()


class Standing(NamedTuple):
    """The facts about an entry, apart from its text, that its standing depends on.

    Times are in Unix seconds, `confidence` in thousandths.
    """

    confidence: int
    type: str
    validation_count: int
    last_validated: float | None
    updated_at: float
    importance: float | None
    pinned: bool


class Score(NamedTuple):
    """An entry's score and its parts.

    `cosine` is None without vectors. `near` is the nearness of its tokens to those of the query, `missing` the share of
    the query word that it is farthest from, times the distance: both are None without token vectors. `lead` is the
    share of its score by which it leads over the two hits behind it, 0..1. `trust` says how evidence is computed with
    the embedding model of the cosine.
    """

    total: float
    relevance: float
    words: float
    cosine: float | None
    near: float | None
    missing: float | None
    standing: float
    path: float
    scope: float
    lead: float = 0.0
    trust: Trust = BUNDLED

    def why(self) -> dict[str, float | None]:
        """Return the parts, rounded, as every front end shows them."""
        return {
            "words": round(self.words, 3),
            "meaning": None if self.cosine is None else round(self.cosine, 3),
            "near": None if self.near is None else round(self.near, 3),
            "missing": None if self.missing is None else round(self.missing, 3),
            "relevance": round(self.relevance, 3),
            "standing": round(self.standing, 3),
            "path": round(self.path, 3),
            "scope": round(self.scope, 3),
            "lead": round(self.lead, 3),
        }


def relevance(
    coverage: float, cosine: float | None, near: float | None = None, words: float | None = None
) -> float:
    """Return how well a text answers, 0..1; by words alone without vectors. `words` is their weight, WORDS by default."""
    if cosine is None:
        return coverage
    weight = WORDS if words is None else words
    found = max(cosine, 0.0) + weight * coverage**SHARPNESS
    if near is None:
        return float(found / (1 + weight))
    return float((found + NEAR * near) / (1 + weight + NEAR))


def memory_strength(standing: Standing, now: float, factor: float = 1.0) -> float:
    """Return the memory strength of an entry, 0..1, which halves with each half-life since the last change or validation.

    The half-life depends on the type; each validation adds another one, as in spaced repetition. Pinned entries do not
    fade. Half-lives are multiplied by `factor`.
    """
    if standing.pinned:
        return 1.0
    since = max(standing.updated_at, standing.last_validated or 0.0)
    days = max(0.0, now - since) / _DAY
    half_life = factor * HALF_LIFE_DAYS.get(standing.type, 7.0) * (1 + standing.validation_count)
    return float(0.5 ** min(days / half_life, 60.0))


def weigh(standing: Standing, now: float, half_life: float = 1.0) -> float:
    """Return an entry's standing, 0..1: confidence first, then kind, memory strength and importance."""
    importance = DEFAULT_IMPORTANCE if standing.importance is None else standing.importance
    return (
        0.5 * standing.confidence / 1000
        + 0.2 * KIND_PRIORITY.get(standing.type, 1.0)
        + 0.2 * memory_strength(standing, now, half_life)
        + 0.1 * importance
    )


def importance_of(stated: float | None, rank: float | None) -> float | None:
    """Return the importance stated in the file, else the one derived from the graph (`rank`, 0..1); None without both."""
    if stated is not None or rank is None:
        return stated
    return DEFAULT_IMPORTANCE + (1 - DEFAULT_IMPORTANCE) * min(max(rank, 0.0), 1.0)


def score(
    coverage: float,
    cosine: float | None,
    standing: Standing,
    now: float,
    *,
    near: float | None = None,
    missing: float | None = None,
    overlap: float = 0.0,
    scope: float = 1.0,
    weights: Weights | None = None,
    trust: Trust = BUNDLED,
) -> Score:
    """Return the score of an entry. `overlap` (0..1) is the closeness of its files to the caller's, `scope` the store's weight."""
    used = weights or Weights(WORDS, STANDING)
    relevant = relevance(coverage, cosine, near, used.words)
    weight = weigh(standing, now, used.half_life)
    path = 1 + PATH_GAIN * overlap
    total = relevant * (1 - used.standing + used.standing * weight) * path * scope
    return Score(total, relevant, coverage, cosine, near, missing, weight, path, scope, trust=trust)


def path_overlap(files: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of leading path parts of the best pair: 1 for a file in common, less for a common folder."""
    return max((_path_overlap(mine, other) for mine in files for other in wanted), default=0.0)


def _path_overlap(one: str, other: str) -> float:
    left, right = one.strip("/").split("/"), other.strip("/").split("/")
    same = 0
    for mine, theirs in zip(left, right, strict=False):
        if mine != theirs:
            break
        same += 1
    return same / max(len(left), len(right))


# The strength of an answer: strong, weak, or none.
#
# The evidence for a hit is its cosine plus the weighted share of the query that its words cover, minus one and a half
# times what it lacks most: the query word that the entry is farthest from. A query that nothing answers usually has such
# a word. By words alone, evidence is the share covered, with bounds of its own.
#
# Evidence alone means little in a store of many entries about one subject, where some entry has much of every question.
# An entry that answers stands out from the others; if none does, the best few score about the same. So the strength of
# an answer depends on the evidence for its best hit and on the lead of that hit over the two behind it. The farther one
# counts twice, since two entries may both answer. The other entries measure how near an entry comes by its subject alone,
# so this needs no calibration per store. docs/recall.md has the rates that these bounds give.

STRONG, WEAK, NONE = STRENGTHS = ("strong", "weak", "none")

_LEAST_MISSING = (
    0.08  # assumed of any text, so that one that hardly touches a query does not count as an answer
)


class Bounds(NamedTuple):
    """The bounds for an answer: it is strong if evidence + `lead` · its lead reaches `strong`, and evidence `least`.

    `weak` is the least evidence for an answer at all, `shown` that for a further hit to be shown. A hit without rivals
    is compared with two of the score `chance`.
    """

    strong: float
    weak: float
    shown: float
    least: float
    lead: float
    chance: float


ON_SUBJECT = 0.5  # evidence of a hit that is about the subject of the query, whether or not it stands out
BESIDE = 0.75  # share of the best hit's score: hits below it rarely answer, too
BY_BOTH = Bounds(2.18, 0.0, -0.13, 0.1, 4.5, 0.1)
BY_WORDS = Bounds(0.72, 0.03, 0.02, 0.2, 1.0, 0.02)
_SMALL_STORE = 200  # entries


def evidence(
    coverage: float, cosine: float | None, missing: float | None = None, trust: Trust = BUNDLED
) -> float:
    """Return the evidence for a hit; below 0 if more is missing than present.

    `coverage` and `missing` are 0..1; `cosine` is None without vectors, `missing` without token vectors.
    """
    if cosine is None:
        return coverage
    lacking = max(missing or 0.0, _LEAST_MISSING)
    return max(cosine, 0.0) + trust.coverage * coverage - trust.missing * lacking - trust.by_chance


def bounds(cosine: float | None) -> Bounds:
    """Return the bounds for evidence of this kind."""
    return BY_WORDS if cosine is None else BY_BOTH


def with_leads(scores: Sequence[Score], kin: Sequence[frozenset[tuple[float, int]]] = ()) -> list[Score]:
    """Return the scores, best first, each with its lead over its next two rivals, the farther one counting twice.

    Parts of one document, which share some of their `kin`, are not rivals: they answer together.
    """
    found = []
    for place, one in enumerate(scores):
        chance = bounds(one.cosine).chance * one.scope
        own, behind = kin[place] if kin else None, range(place + 1, len(scores))
        rivals = (max(chance, scores[k].total) for k in behind if not own or own.isdisjoint(kin[k]))
        near, far = islice(chain(rivals, repeat(chance)), 2)
        lead = max(0.0, 1 - (near + 2 * far) / (3 * one.total)) if one.total > 0 else 0.0
        found.append(one._replace(lead=lead))
    return found


def lead_weight(entries: int) -> float:
    """Return the weight of a lead in a store of so many entries: 1 up to 200, then √(ln entries / ln 200).

    The more entries there are, the closer the scores of the best that do not answer: in dense stores of 200 to 1,200
    entries the lead of the first falls about as fast as this weight grows.
    """
    return math.sqrt(math.log(max(entries, _SMALL_STORE)) / math.log(_SMALL_STORE))


def sureness(amount: float, lead: float, limits: Bounds) -> float:
    """Return how close a hit with this amount of evidence and this lead comes to a strong answer: 1 or more is strong."""
    return (amount + limits.lead * lead) / limits.strong if amount >= limits.least else 0.0


def strength(amount: float, lead: float, limits: Bounds, bar: float = 1.0) -> str:
    """Return the strength of an answer by its best hit's evidence and lead; `bar` is the sureness that makes it strong."""
    if sureness(amount, lead, limits) >= bar:
        return STRONG
    return WEAK if amount >= limits.weak else NONE
