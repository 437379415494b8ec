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
    """Multiply the first `slots` vectors of a file with a query, numbers of one byte all of them."""
    width = len(query)
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), slots * width, access=mmap.ACCESS_READ) as data,
        memoryview(data) as every,
    ):
        return products(every, struct.pack(f"{width}b", *query), width)


class PlainCosines:
    """The cosines of a query with each of `rows` rows; the best vector of a row counts."""

    def __init__(self, every: list[float], edges: memoryview, scale: float) -> None:
        """`every` times `scale` is the cosine of each vector; those of row i are `edges[i:i + 2]`."""
        self._every = every
        self._edges = edges
        self._scale = scale
        self.rows = len(edges) - 1

    def of(self, rows: Sequence[int]) -> list[float]:
        """Return the cosines of these rows."""
        every, edges, scale = self._every, self._edges, self._scale
        return [max(every[edges[row] : edges[row + 1]]) * scale for row in rows]

    def largest(self, count: int) -> list[int]:
        """Return rows in order: the `count` nearest, those that equal the last, and few others."""
        every, edges, wanted = self._every, self._edges, 2 * count
        while wanted < len(every):
            floor = heapq.nlargest(wanted, every)[-1]
            places = [place for place, value in enumerate(every) if value >= floor]
            rows = list(dict.fromkeys([bisect_right(edges, place) - 1 for place in places]))
            if len(rows) >= count:
                return rows
            wanted *= 2  # too many vectors are of the same rows
        return list(range(self.rows))
