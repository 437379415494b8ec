"""Measures of a ranking: recall, reciprocal rank, and discounted gain, each over the first k results.

Definitions as in TREC's trec_eval; nDCG after Järvelin and Kekäläinen (2002) with gain = grade, discount = log2(rank + 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Measure = Callable[[Sequence[str], Mapping[str, int], int], float]


class Quality(NamedTuple):
    """Means over all queries, each 0..1; `queries` counts them."""

    recall_1: float
    recall_5: float
    recall_10: float
    mrr_10: float
    ndcg_10: float
    queries: int


def recall(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """The share of the relevant documents among the first `k`; 0 where there are none."""
    relevant = {document for document, grade in grades.items() if grade > 0}
    return len(relevant & set(ranked[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """1 / rank of the first relevant document among the first `k`, or 0."""
    for rank, document in enumerate(ranked[:k], 1):
        if grades.get(document, 0) > 0:
            return 1 / rank
    return 0.0


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """The discounted gain of the first `k`, divided by that of the best possible order."""
    best = _gain(sorted(grades.values(), reverse=True)[:k])
    return _gain([grades.get(document, 0) for document in ranked[:k]]) / best if best else 0.0


def quality(rankings: Mapping[str, Sequence[str]], judged: Mapping[str, Mapping[str, int]]) -> Quality:
    """The means over the queries of `rankings` (query id → document ids, best first)."""
    count = len(rankings)

    def mean(measure: Measure, k: int) -> float:
        return sum(measure(ranked, judged[query], k) for query, ranked in rankings.items()) / max(count, 1)

    return Quality(
        mean(recall, 1), mean(recall, 5), mean(recall, 10), mean(reciprocal_rank, 10), mean(ndcg, 10), count
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0..1) of the values do not exceed (nearest rank); 0 for no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
