"""Paired bootstrap: the confidence of a difference between two variants that were asked the same questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

SAMPLES = 10_000
_AT_ONCE = 500
_SEED = 20_260_101


class Difference(NamedTuple):
    """The mean difference, the middle 95 % of its resamples, and the share of them that is not above 0, or not below."""

    mean: float
    low: float
    high: float
    p_value: float


def compare(
    one: Sequence[float], other: Sequence[float], units: Sequence[Hashable] | None = None
) -> Difference:
    """`one` − `other`, question by question; whole `units` (one a question) are drawn together, if given.

    Two-sided: `p_value` is twice the smaller share, at most 1. Raises ValueError where lengths differ.
    """
    differences = np.asarray(one, float) - np.asarray(other, float)
    if not len(differences):
        return Difference(0.0, 0.0, 0.0, 1.0)
    numbers = range(len(differences)) if units is None else units
    names = {name: place for place, name in enumerate(dict.fromkeys(numbers))}
    places = np.array([names[name] for name in numbers])
    sums, counts = np.bincount(places, differences), np.bincount(places)
    means = _resampled(sums, counts)
    low, high = np.quantile(means, (0.025, 0.975))
    share = min((means <= 0).mean(), (means >= 0).mean())
    return Difference(float(differences.mean()), float(low), float(high), float(min(1.0, 2 * share)))


def _resampled(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Means of as many resamples of the units, drawn with replacement."""
    random = np.random.default_rng(_SEED)
    means = []
    for _ in range(SAMPLES // _AT_ONCE):
        drawn = random.integers(0, len(sums), (_AT_ONCE, len(sums)))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    return np.concatenate(means)
