"""The table of token vectors, and the mean that turns token ids into one unit vector."""

from __future__ import annotations

from itertools import pairwise

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.tensorfile import HINT, TensorFile, map_tensor
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK = 256  # token rows summed at a time: of int8 rows so many fit int16, and float32 stays exact to 1e-6


class TokenTable:
    """Token vectors of one model: `vectors` (rows, dimensions), int8 or float, usually memory-mapped.

    A model with a quantised vocabulary has fewer rows than tokens: `mapping` (tokens,) gives each token's row,
    `weights` (tokens,) the factor of its vector in the mean. Without them, row i is token i, factor 1.
    """

    def __init__(
        self,
        vectors: NDArray[np.generic],
        weights: NDArray[np.float32] | None = None,
        mapping: NDArray[np.intp] | None = None,
    ) -> None:
        self._numpy = numpy_module()
        self._vectors = vectors
        self._weights = weights
        self._mapping = mapping
        self._ones = self._numpy.ones(_BLOCK, dtype="float32")
        self._whole = vectors.dtype == "int8" and weights is None
        self._int16 = self._numpy.int16

    @property
    def tokens(self) -> int:
        """How many token ids have a vector."""
        return len(self._vectors if self._mapping is None else self._mapping)

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return int(self._vectors.shape[1])

    def rows(self, ids: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the vectors of token ids, neither normalised nor weighted: (len(ids), dimensions)."""
        found: NDArray[np.float32] = self._take(ids).astype("float32", copy=False)
        return found

    def unit_mean(self, ids: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the direction of the weighted mean of the ids' vectors, (dimensions,): a unit vector, or zeros.

        The sum has the direction of the mean, so nothing is divided by the count. Sums of int8 rows are exact.
        """
        total: NDArray[np.float32] = self._numpy.empty(self._vectors.shape[1], dtype="float32")
        self.sum(ids, total)
        return unit(total)

    def sum(self, ids: NDArray[np.integer], total: NDArray[np.float32]) -> None:
        """Write the weighted sum of the ids' vectors to `total` (dimensions,)."""
        self._sum(ids[:_BLOCK], total)
        if len(ids) > _BLOCK:
            block = self._numpy.empty_like(total)
            for start in range(_BLOCK, len(ids), _BLOCK):
                self._sum(ids[start : start + _BLOCK], block)
                total += block

    def part_sums(self, ids: NDArray[np.integer], totals: NDArray[np.float32]) -> None:
        """Write the weighted sums of len(totals) slices of equally many ids to `totals` (parts, dimensions)."""
        parts = len(totals)
        edges = [len(ids) * part // parts for part in range(parts + 1)]
        for total, (start, end) in zip(totals, pairwise(edges), strict=True):
            self.sum(ids[start:end], total)

    def _sum(self, ids: NDArray[np.integer], total: NDArray[np.float32]) -> None:
        """Write the weighted sum of at most _BLOCK token vectors."""
        if self._whole:
            self._numpy.add.reduce(self._take(ids), axis=0, dtype=self._int16, out=total)
        else:
            weights = self._ones[: len(ids)] if self._weights is None else self._weights.take(ids)
            self._numpy.matmul(weights, self.rows(ids), out=total)

    def _take(self, ids: NDArray[np.integer]) -> NDArray[np.generic]:
        """Return the rows of token ids as they are stored."""
        return self._vectors.take(ids if self._mapping is None else self._mapping.take(ids), axis=0)


def unit(total: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the direction of a sum of vectors, (dimensions,): a unit vector, or zeros."""
    length = float(total @ total) ** 0.5
    if 0 < length < float("inf"):
        return total / numpy_module().float32(length)  # type: ignore[no-any-return]
    return numpy_module().zeros_like(total)  # type: ignore[no-any-return]


def units(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the direction of each row, (rows, dimensions): unit vectors, or zeros. Overwrites `sums`."""
    lengths = numpy_module().sqrt(numpy_module().einsum("ij,ij->i", sums, sums))
    none = ~((lengths > 0) & (lengths < float("inf")))
    sums[none] = 0
    lengths[none] = 1
    sums /= lengths[:, None]
    return sums


def open_table(file: TensorFile) -> TokenTable:
    """Open the table in a model2vec safetensors file. Raises EmbeddingError if its tensors do not fit."""
    vectors = map_tensor(file, "embeddings")
    if vectors.ndim != 2:
        raise EmbeddingError(f"{file.path} has 'embeddings' that are not a table.", HINT)
    if vectors.dtype not in ("int8", "float32"):  # numpy converts float16 to float32 very slowly: do it once
        vectors = vectors.astype("float32")
    weights = map_tensor(file, "weights").astype("float32") if "weights" in file.tensors else None
    mapping = map_tensor(file, "mapping").astype("intp") if "mapping" in file.tensors else None
    table = TokenTable(vectors, weights, mapping)
    if mapping is not None and (mapping.ndim != 1 or not ((mapping >= 0) & (mapping < len(vectors))).all()):
        raise EmbeddingError(f"The 'mapping' in {file.path} names rows beyond 'embeddings'.", HINT)
    if weights is not None and weights.shape != (table.tokens,):
        raise EmbeddingError(f"The 'weights' in {file.path} do not fit its {table.tokens} tokens.", HINT)
    return table
