"""Ordering all rows by how well their text answers, before anything else is known of them."""

from __future__ import annotations

from engram.adapters.index.numeric import numpy_module
from engram.domain import ranking
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float32, int64
    from numpy.typing import NDArray

    from engram.adapters.index.words import WordHits

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
        self._order: list[int] = []
        self._asked = 0
        self._fused: Floats | None = None

    def parts(self, row: int) -> tuple[float, float | None]:
        """Coverage and cosine of a row."""
        perfect = self._found.perfect
        coverage = min(1.0, self._found.scores.get(row, 0.0) / perfect) if perfect else 0.0
        return coverage, None if self._cosines is None else float(self._cosines[row])

    def best(self, count: int) -> list[int]:
        """The `count` most relevant rows, best first, and those that equal the last; fewer where there are no more."""
        rows = self._ordered(count + 1)
        while len(rows) > count and self._value(rows[count]) == self._value(rows[count - 1]) > 0:
            count += 1
            rows = self._ordered(count + 1) if count < len(rows) else self._ordered(2 * count)
        return rows[:count]

    def rivals(self, limit: int, share: float, most: int) -> int:
        """How many rows (up to `most`) are at least `share` as relevant as the `limit`-th: only they can beat it."""
        rows = self._ordered(most + 1)
        if len(rows) <= limit:
            return max(1, len(rows))
        floor = share * self._value(rows[limit - 1])
        return sum(self._value(row) >= floor for row in rows[:most])

    def _value(self, row: int) -> float:
        if self._fused is None:
            return ranking.relevance(*self.parts(row))
        return float(self._fused[row]) / (1 + ranking.WORDS)

    def _ordered(self, count: int) -> list[int]:
        """At least the `count` most relevant rows, best first, or all that there are."""
        if count > self._asked:
            self._asked = count
            self._order = self._by_words() if self._cosines is None else self._by_both(self._cosines, count)
        return self._order

    def _by_words(self) -> list[int]:
        allowed = self._allowed
        return [row for row in self._found.scores if allowed is None or row in allowed]

    def _by_both(self, cosines: Floats, count: int) -> list[int]:
        if self._fused is None:
            self._fused = self._fuse(cosines)
        if self._allowed is None:
            return _largest(self._fused, count).tolist()  # type: ignore[no-any-return]
        numpy = numpy_module()
        rows = numpy.fromiter((row for row in self._allowed if row < len(self._fused)), dtype=numpy.int64)
        return rows[_largest(self._fused[rows], count)].tolist()  # type: ignore[no-any-return]

    def _fuse(self, cosines: Floats) -> Floats:
        """`ranking.relevance` of every row, but for its division by a constant."""
        numpy = numpy_module()
        fused: Floats = numpy.maximum(cosines, 0.0)
        if self._found.scores and self._found.perfect:
            rows = numpy.fromiter(self._found.scores.keys(), dtype=numpy.int64)
            scores = numpy.fromiter(self._found.scores.values(), dtype=numpy.float32)
            known = rows < len(fused)
            coverage = numpy.minimum(scores[known] / self._found.perfect, 1.0)
            fused[rows[known]] += ranking.WORDS * coverage**ranking.SHARPNESS
        return fused


def _largest(values: Floats, count: int) -> NDArray[int64]:
    """Places of the `count` largest values, the largest first."""
    numpy = numpy_module()
    places = numpy.arange(len(values))
    if count < len(values):
        places = numpy.argpartition(values, len(values) - count)[-count:]
    order: NDArray[int64] = places[numpy.argsort(-values[places], kind="stable")]
    return order
