"""Measures of a ranking over its first k results: recall, reciprocal rank, discounted gain; and the bootstrap of a difference.

Definitions as in TREC's trec_eval; nDCG after Järvelin and Kekäläinen (2002) with gain = grade, discount = log2(rank + 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from engram.adapters.numeric import numpy_module

np = numpy_module()  # with a single thread, as in the product
Measure = Callable[[Sequence[str], Mapping[str, int], int], float]


class Quality(NamedTuple):
    """Means over all queries, each 0..1, and the number of queries."""

    recall_1: float
    recall_5: float
    recall_10: float
    mrr_10: float
    ndcg_10: float
    queries: int


def recall(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Return the share of the relevant documents among the first `k`; 0 if there are none."""
    relevant = {document for document, grade in grades.items() if grade > 0}
    return len(relevant & set(ranked[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Return 1 / rank of the first relevant document among the first `k`, or 0."""
    for rank, document in enumerate(ranked[:k], 1):
        if grades.get(document, 0) > 0:
            return 1 / rank
    return 0.0


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Return the discounted gain of the first `k`, divided by that of the best possible order."""
    best = _gain(sorted(grades.values(), reverse=True)[:k])
    return _gain([grades.get(document, 0) for document in ranked[:k]]) / best if best else 0.0


def quality(rankings: Mapping[str, Sequence[str]], judged: Mapping[str, Mapping[str, int]]) -> Quality:
    """Return the means over the queries of `rankings` (query id → document ids, best first)."""
    count = len(rankings)

    def mean(measure: Measure, k: int) -> float:
        return sum(measure(ranked, judged[query], k) for query, ranked in rankings.items()) / max(count, 1)

    return Quality(
        mean(recall, 1), mean(recall, 5), mean(recall, 10), mean(reciprocal_rank, 10), mean(ndcg, 10), count
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` (0..1) of the values do not exceed (nearest rank); 0 for no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


SAMPLES = 10_000
_BATCH = 500
_SEED = 20_260_101


class Difference(NamedTuple):
    """The mean difference, the middle 95 % of its resamples, and its two-sided p-value."""

    mean: float
    low: float
    high: float
    p_value: float


def compare(
    one: Sequence[float], other: Sequence[float], units: Sequence[Hashable] | None = None
) -> Difference:
    """Return the paired bootstrap of `one` − `other`, question by question.

    With `units` (one per question), whole units are drawn. `p_value` is twice the smaller of the shares of resamples that are
    at most 0, or at least 0. Raises ValueError if lengths differ.
    """
    differences = np.asarray(one, float) - np.asarray(other, float)
    if not len(differences):
        return Difference(0.0, 0.0, 0.0, 1.0)
    numbers = range(len(differences)) if units is None else units
    names = {name: place for place, name in enumerate(dict.fromkeys(numbers))}
    places = np.array([names[name] for name in numbers])
    sums, counts = np.bincount(places, differences), np.bincount(places)
    means = _resample(sums, counts)
    low, high = np.quantile(means, (0.025, 0.975))
    share = min((means <= 0).mean(), (means >= 0).mean())
    return Difference(float(differences.mean()), float(low), float(high), float(min(1.0, 2 * share)))


def _resample(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the means of `SAMPLES` resamples of the units, drawn with replacement."""
    random = np.random.default_rng(_SEED)
    means = []
    for _ in range(SAMPLES // _BATCH):
        drawn = random.integers(0, len(sums), (_BATCH, len(sums)))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    return np.concatenate(means)
