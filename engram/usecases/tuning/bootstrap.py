"""How sure a mean is: a bootstrap, the same one for the same values."""

from __future__ import annotations

from random import Random

from engram.domain.recall.judged import Interval
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESAMPLES = 2000
_LEVEL = 0.95
_SEED = 20_250


def interval(values: Sequence[float]) -> Interval:
    """The mean of such values and where it lies; 0 where there are none."""
    if not values:
        return Interval(0.0, 0.0, 0.0)
    draw, count = Random(_SEED).choices, len(values)  # noqa: S311 - resampling, no secret
    means = sorted([sum(draw(values, k=count)) / count for _ in range(_RESAMPLES)])
    edge = round(_RESAMPLES * (1 - _LEVEL) / 2)
    return Interval(sum(values) / count, means[edge], means[-1 - edge])
