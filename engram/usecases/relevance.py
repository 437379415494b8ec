"""Ordering all rows by how well their text answers, before anything else is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.adapters.index.numeric import numpy_module
from engram.domain import ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import float32
    from numpy.typing import NDArray

    from engram.adapters.index.words import WordHits
    from engram.usecases.search import Candidate

    Floats = NDArray[float32]


class Relevance:
    """The relevance of each row to one query: from word hits, and from `cosines` (float32, rows) where there are any.

    `allowed` are the rows that explicit filters leave (None: all).
    """

    def __init__(self, found: WordHits, cosines: Floats | None, allowed: set[int] | None) -> None:
        """Nothing is computed yet."""
        self._found = found
        self._cosines = cosines
        self._allowed = allowed
        self._order: Sequence[int] = ()
        self._bound = 0.0

    def parts(self, row: int) -> tuple[float, float | None]:
        """Coverage and cosine of a row."""
        perfect = self._found.perfect
        coverage = min(1.0, self._found.scores.get(row, 0.0) / perfect) if perfect else 0.0
        return coverage, None if self._cosines is None else float(self._cosines[row])

    def best(self, count: int) -> list[int]:
        """The `count` most relevant rows, in no order; fewer where there are no more."""
        rows = self._by_words(count + 1) if self._cosines is None else self._by_both(self._cosines, count + 1)
        weakest = min((ranking.relevance(*self.parts(row)) for row in rows), default=0.0)
        self._bound = weakest if len(rows) > count else 0.0
        return rows[:count]

    def settles(self, candidates: Sequence[Candidate], limit: int, largest_factor: float) -> bool:
        """Whether no row left out by the last `best` could be among the first `limit` of the candidates.

        `largest_factor` is the most that what is known of a lore could multiply its relevance by.
        """
        best_case = self._bound * largest_factor
        return len(candidates) >= limit and candidates[limit - 1].score.total >= best_case

    def _by_words(self, count: int) -> list[int]:
        allowed = self._allowed
        rows = [row for row in self._found.scores if allowed is None or row in allowed]
        return rows[:count]

    def _by_both(self, cosines: Floats, count: int) -> list[int]:
        numpy = numpy_module()
        relevance = numpy.maximum(cosines, 0.0)
        if self._found.scores and self._found.perfect:
            rows = numpy.fromiter(self._found.scores.keys(), dtype=numpy.int64)
            scores = numpy.fromiter(self._found.scores.values(), dtype=numpy.float32)
            known = rows < len(relevance)
            coverage = numpy.minimum(scores[known] / self._found.perfect, 1.0)
            relevance[rows[known]] += ranking.WORDS * coverage**ranking.SHARPNESS
        if self._allowed is None:
            return [int(row) for row in _largest(relevance, count)]
        rows = numpy.fromiter((row for row in self._allowed if row < len(relevance)), dtype=numpy.int64)
        return [int(row) for row in rows[_largest(relevance[rows], count)]]


def _largest(values: Floats, count: int) -> Sequence[int]:
    """Places of the `count` largest values, the largest first."""
    numpy = numpy_module()
    places = numpy.arange(len(values))
    if count < len(values):
        places = numpy.argpartition(values, len(values) - count)[-count:]
    order: Sequence[int] = places[numpy.argsort(-values[places], kind="stable")]
    return order
