"""Ordering all rows by how well their text answers, before anything else is known of them."""

from __future__ import annotations

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
        self._rows: list[int] = []
        self._values: list[float] = []  # of `_rows`: how relevant each is
        self._asked = 0
        self._fused: Floats | None = None

    def parts(self, row: int) -> tuple[float, float | None]:
        """Coverage and cosine of a row."""
        perfect = self._found.perfect
        coverage = min(1.0, self._found.scores.get(row, 0.0) / perfect) if perfect else 0.0
        return coverage, None if self._cosines is None else float(self._cosines[row])

    def best(self, count: int) -> list[int]:
        """The `count` most relevant rows, best first, and those that equal the last; fewer where there are no more."""
        self._order_first(count + 1)
        while len(self._rows) > count and self._values[count] == self._values[count - 1] > 0:
            count += 1
            self._order_first(count + 1 if count < len(self._rows) else 2 * count)
        return self._rows[:count]

    def rivals(self, limit: int, share: float, most: int) -> int:
        """How many rows (up to `most`) are at least `share` as relevant as the `limit`-th: only they can beat it."""
        self._order_first(most + 1)
        if len(self._rows) <= limit:
            return max(1, len(self._rows))
        floor = share * self._values[limit - 1]
        return sum([value >= floor for value in self._values[:most]])

    def rest(self) -> None:
        """Give back the memory of what can be computed again; the order found so far stays."""
        self._fused = None

    def _order_first(self, count: int) -> None:
        """Have at least the `count` most relevant rows in order, best first, or all that there are."""
        if count <= self._asked:
            return
        self._asked = count
        if self._cosines is None:
            self._rows, self._values = self._by_words()
        else:
            self._rows, self._values = self._by_both(self._cosines, count)

    def _by_words(self) -> tuple[list[int], list[float]]:
        allowed, perfect, scores = self._allowed, self._found.perfect, self._found.scores
        rows = [row for row in scores if allowed is None or row in allowed]
        return rows, [min(1.0, scores[row] / perfect) if perfect else 0.0 for row in rows]

    def _by_both(self, cosines: Floats, count: int) -> tuple[list[int], list[float]]:
        if self._fused is None:
            self._fused = self._fuse(cosines)
        from engram.adapters.index.numeric import numpy_module

        numpy, fused = numpy_module(), self._fused
        if self._allowed is None:
            rows = _largest(fused, count)
        else:
            rows = numpy.fromiter((row for row in self._allowed if row < len(fused)), dtype=numpy.int64)
            rows = rows[_largest(fused[rows], count)]
        return rows.tolist(), (fused[rows].astype(numpy.float64) / (1 + ranking.WORDS)).tolist()

    def _fuse(self, cosines: Floats) -> Floats:
        """`ranking.relevance` of every row, but for its division by a constant."""
        from engram.adapters.index.numeric import numpy_module

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
    from engram.adapters.index.numeric import numpy_module

    numpy = numpy_module()
    places = numpy.arange(len(values))
    if count < len(values):
        places = numpy.argpartition(values, len(values) - count)[-count:]
    order: NDArray[int64] = places[numpy.argsort(-values[places], kind="stable")]
    return order
