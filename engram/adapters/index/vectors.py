"""The vectors: one float16 row for each row number, in one flat file; searched exactly.

The file only grows; a row that is no longer used is zeroed and matches nothing.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from engram.adapters.index.numeric import dot_products, numpy_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy


class VectorFile:
    """Vectors of `dimensions` float16 numbers at `path`."""

    def __init__(self, path: str, dimensions: int) -> None:
        """Nothing is opened until it is needed: a words-only query never loads numpy."""
        self.path = path
        self.width = dimensions * 2
        self.dimensions = dimensions
        self._mapped: numpy.ndarray | None = None

    def rows(self) -> int:
        """How many rows the file holds."""
        try:
            return os.stat(self.path).st_size // self.width
        except FileNotFoundError:
            return 0

    def write(self, row: int, vectors: numpy.ndarray) -> list[int]:
        """Store vectors (n x dimensions) from `row` on; returns the check number of each."""
        data = vectors.astype(numpy_module().float16).tobytes()
        with open(self.path, "r+b" if os.path.exists(self.path) else "w+b") as file:
            file.seek(row * self.width)
            file.write(data)
        return [check(data[at : at + self.width]) for at in range(0, len(data), self.width)]

    def clear(self, rows: Sequence[int]) -> None:
        """Zero rows that are no longer used."""
        with open(self.path, "r+b") as file:
            for row in rows:
                file.seek(row * self.width)
                file.write(bytes(self.width))

    def matrix(self, count: int) -> numpy.ndarray:
        """The first `count` rows (float16, count x dimensions), mapped from the file.

        Raises ValueError when the file is shorter than that.
        """
        if self._mapped is None or len(self._mapped) < count:
            numpy = numpy_module()
            flat = numpy.memmap(self.path, dtype=numpy.float16, mode="r")
            if len(flat) < count * self.dimensions:
                raise ValueError(f"{self.path} is shorter than the catalog says")
            usable = len(flat) // self.dimensions
            self._mapped = flat[: usable * self.dimensions].reshape(usable, self.dimensions)
        return self._mapped[:count]

    def raw(self, row: int) -> bytes:
        """The bytes of one row, read without numpy."""
        with open(self.path, "rb") as file:
            file.seek(row * self.width)
            return file.read(self.width)

    def cosines(self, query: numpy.ndarray, count: int) -> numpy.ndarray:
        """Cosine of the unit vector `query` (d) with each of the first `count` rows: float32, count.

        Raises ValueError when a stored vector is not a number (a damaged file).
        """
        numpy = numpy_module()
        if count == 0:
            return numpy.zeros(0, numpy.float32)  # type: ignore[no-any-return]
        result = dot_products(self.matrix(count), query.astype(numpy.float16))
        if not numpy.isfinite(result).all():
            raise ValueError(f"{self.path} holds values that are not numbers")
        return result


def check(raw: bytes) -> int:
    """The check number of one stored vector."""
    return zlib.crc32(raw)
