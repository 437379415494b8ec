"""The cosines of all rows with one query, computed lazily: only the best rows are usually needed."""

from __future__ import annotations

from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

_GROUP = 64


class Cosines:
    """The cosines of a query with each of `rows` rows; the best vector of a row counts."""

    def __init__(self, every: numpy.ndarray, edges: numpy.ndarray | None = None, scale: float = 1.0) -> None:
        """`every` (float32, slots) times `scale` is the cosine of each vector; those of row i are `edges[i:i + 2]`.

        Without `edges` (rows + 1) each row has one vector.
        """
        self._every = every
        self._edges = edges
        self._scale = numpy_module().float32(scale)
        self.rows = len(every) if edges is None else len(edges) - 1

    def of(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Return the cosines of these rows: float32, len(rows)."""
        np = numpy_module()
        found: numpy.ndarray
        if self._edges is None or not len(rows):
            found = self._every.take(rows)
        else:
            starts = self._edges.take(rows)
            counts = self._edges.take(rows + 1) - starts
            after = counts.cumsum()
            first = after - counts
            places = np.arange(after[-1]) + (starts - first).repeat(counts)
            found = np.maximum.reduceat(self._every.take(places), first)
        result: numpy.ndarray = found * self._scale
        return result

    def largest(self, count: int) -> numpy.ndarray:
        """Return rows in order: the `count` nearest, those that equal the last, and few others."""
        np = numpy_module()
        every, groups = self._every, len(self._every) // _GROUP
        wanted = 2 * count
        while wanted < groups:
            # The best vectors of so many groups are as many vectors: no lower one can be among the nearest.
            best = every[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
            floor = np.partition(best, groups - wanted)[groups - wanted]
            found = self._rows_of((every >= floor).nonzero()[0])
            if len(found) >= count:
                return found
            wanted *= 2  # too many vectors are of the same rows
        everything: numpy.ndarray = np.arange(self.rows)
        return everything

    def _rows_of(self, places: numpy.ndarray) -> numpy.ndarray:
        """Return the rows of vectors in order, each once."""
        if self._edges is None or not len(places):
            return places
        rows: numpy.ndarray = self._edges.searchsorted(places, side="right") - 1
        is_first = numpy_module().ones(len(rows), dtype=bool)
        is_first[1:] = rows[1:] != rows[:-1]
        found: numpy.ndarray = rows[is_first]
        return found
