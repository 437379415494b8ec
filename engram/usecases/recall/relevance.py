"""The order of rows by how well their text answers, before their standing is considered."""

from __future__ import annotations

from engram.adapters.numeric import numpy_module
from engram.domain.recall import ranking
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import float32, intp
    from numpy.typing import NDArray

    from engram.adapters.index.vectors import Cosines
    from engram.adapters.index.words import WordHits

    Floats = NDArray[float32]

_SORT_ALL_UP_TO = 1000


class Relevance:
    """The relevance of rows to one query: from word hits, and from `cosines` if there are any.

    `allowed` are the rows that pass explicit filters (None: all); `weight` is the weight of words against meaning.
    """

    def __init__(
        self, found: WordHits, cosines: Cosines | None, allowed: set[int] | None, weight: float
    ) -> None:
        """Compute nothing yet."""
        self._found = found
        self._cosines = cosines
        self._allowed = allowed
        self._weight = weight
        self._rows: list[int] = []
        self._values: list[float] = []  # the relevance of each of `_rows`
        self._asked = 0
        self._known: dict[int, float] = {}  # cosines by row

    def parts(self, rows: Sequence[int]) -> list[tuple[float, float | None]]:
        """Return the coverage and cosine of each row."""
        return list(zip(map(self._coverage, rows), self._cosines_of(rows), strict=True))

    def _coverage(self, row: int) -> float:
        perfect = self._found.perfect
        return min(1.0, self._found.scores.get(row, 0.0) / perfect) if perfect else 0.0

    def _cosines_of(self, rows: Sequence[int]) -> list[float] | list[None]:
        if self._cosines is None:
            return [None] * len(rows)
        known = self._known
        if unknown := [row for row in rows if row not in known]:
            numpy = numpy_module()
            found = self._cosines.of(numpy.array(unknown, dtype=numpy.int64))
            known.update(zip(unknown, found.tolist(), strict=True))
        return [known[row] for row in rows]

    def best(self, count: int) -> list[int]:
        """Return the `count` most relevant rows, best first, and those as relevant as the last; fewer if there are no more."""
        self._order_first(count + 1)
        while len(self._rows) > count and self._values[count] == self._values[count - 1] > 0:
            count += 1
            self._order_first(count + 1 if count < len(self._rows) else 2 * count)
        return self._rows[:count]

    def rivals(self, limit: int, share: float, most: int) -> int:
        """Count the rows (up to `most`) at least `share` as relevant as the `limit`-th: only they can beat it."""
        self._order_first(most + 1)
        if len(self._rows) <= limit:
            return max(1, len(self._rows))
        floor = share * self._values[limit - 1]
        return sum([value >= floor for value in self._values[:most]])

    def _order_first(self, count: int) -> None:
        """Order at least the `count` most relevant rows, best first, or all of them."""
        if count <= self._asked:
            return
        self._asked = count
        self._rows, self._values = self._order(count)

    def _order(self, count: int) -> tuple[list[int], list[float]]:
        return self._by_words() if self._cosines is None else self._by_both(self._cosines, count)

    def _by_words(self) -> tuple[list[int], list[float]]:
        allowed = self._allowed
        rows = [row for row in self._found.scores if allowed is None or row in allowed]
        return rows, [self._coverage(row) for row in rows]

    def _by_both(self, cosines: Cosines, count: int) -> tuple[list[int], list[float]]:
        """Order rows by `ranking.relevance`; those without word hits by their cosines."""
        numpy = numpy_module()
        scores, total, allowed = self._found.scores, cosines.rows, self._allowed
        if allowed is None:
            hits = (
                list(scores) if not scores or max(scores) < total else [row for row in scores if row < total]
            )
            others = cosines.largest(count).tolist()
        else:
            hits = [row for row in scores if row < total and row in allowed]
            others = [row for row in allowed if row < total]
        places = numpy.array(hits + [row for row in others if row not in scores], dtype=numpy.intp)
        near = cosines.of(places)
        fused = numpy.maximum(near, 0.0)
        if hits and self._found.perfect:
            coverage = numpy.array([scores[row] for row in hits], dtype=numpy.float32) / self._found.perfect
            fused[: len(hits)] += self._weight * numpy.minimum(coverage, 1.0) ** ranking.SHARPNESS
        first = _largest(fused, count)
        rows = places[first].tolist()
        self._known.update(zip(rows, near[first].tolist(), strict=True))
        return rows, (fused[first].astype(numpy.float64) / (1 + self._weight)).tolist()


def _largest(values: Floats, count: int) -> NDArray[intp]:
    """Return the places of the `count` largest values, the largest first."""
    order: NDArray[intp]
    if len(values) <= _SORT_ALL_UP_TO:
        order = (-values).argsort(kind="stable")
        return order[:count]
    places = values.argpartition(max(0, len(values) - count))[-count:]
    order = places[(-values[places]).argsort(kind="stable")]
    return order
