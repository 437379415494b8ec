"""The cosines of all rows with one query, without numpy."""

from __future__ import annotations

import heapq
import mmap
import struct
from bisect import bisect_right

from engram.adapters.int8_products import products
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_products(path: str, query: Sequence[int], slots: int) -> list[float]:
    """Multiply the first `slots` vectors of a file with a query; all are vectors of signed bytes."""
    width = len(query)
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), slots * width, access=mmap.ACCESS_READ) as data,
        memoryview(data) as every,
    ):
        return products(every, struct.pack(f"{width}b", *query), width)


class PlainCosines:
    """The cosines of a query with each of `rows` rows; the best vector of a row counts."""

    def __init__(self, dot_products: list[float], edges: memoryview, scale: float) -> None:
        """Take the products of the query with each vector, as `Cosines` does."""
        self._all = dot_products
        self._edges = edges
        self._scale = scale
        self.rows = len(edges) - 1

    def of(self, rows: Sequence[int]) -> list[float]:
        """Return the cosines of these rows."""
        values, edges, scale = self._all, self._edges, self._scale
        return [max(values[edges[row] : edges[row + 1]]) * scale for row in rows]

    def largest(self, count: int) -> list[int]:
        """Return rows in order: the `count` nearest, ties with the last of them, and a few others."""
        values, edges, wanted = self._all, self._edges, 2 * count
        while wanted < len(values):
            floor = heapq.nlargest(wanted, values)[-1]
            places = [place for place, value in enumerate(values) if value >= floor]
            rows = list(dict.fromkeys([bisect_right(edges, place) - 1 for place in places]))
            if len(rows) >= count:
                return rows
            wanted *= 2  # too many vectors belong to the same rows
        return list(range(self.rows))
