"""The table of token vectors, and the mean that turns token ids into one unit vector."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.numeric import numpy
from engram.adapters.embed.tensorfile import HINT, TensorFile, map_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_BLOCK = 1024  # token rows summed at a time: little memory, and float32 sums stay exact to 1e-6


class TokenTable:
    """Token vectors of one model: `vectors` (rows, dimensions), int8 or float, mostly a map of the file.

    A model with a quantised vocabulary has fewer rows than tokens: `mapping` (tokens,) gives each token's
    row, `weights` (tokens,) the factor of its vector in the mean. Without them, row i is token i, factor 1.
    """

    def __init__(
        self,
        vectors: NDArray[np.generic],
        weights: NDArray[np.float32] | None = None,
        mapping: NDArray[np.intp] | None = None,
    ) -> None:
        self._numpy = numpy()
        self._vectors = vectors
        self._weights = weights
        self._mapping = mapping
        self._ones = self._numpy.ones(_BLOCK, dtype="float32")

    @property
    def tokens(self) -> int:
        """How many token ids have a vector."""
        return len(self._vectors if self._mapping is None else self._mapping)

    def rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of token ids, not normalised and not weighted: (len(ids), dimensions)."""
        index = self._numpy.array(ids, dtype="intp")
        if self._mapping is not None:
            index = self._mapping.take(index)
        found: NDArray[np.float32] = self._vectors.take(index, axis=0).astype("float32", copy=False)
        return found

    def unit_mean(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The direction of the weighted mean of the ids' vectors, (dimensions,): a unit vector, or zeros.

        The sum points where the mean points, so nothing is divided by the count. Sums of int8 rows are exact.
        """
        return unit(self.sum(ids))

    def sum(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The weighted sum of the ids' vectors, (dimensions,)."""
        total = self._sum(ids[:_BLOCK])
        for start in range(_BLOCK, len(ids), _BLOCK):
            total += self._sum(ids[start : start + _BLOCK])
        return total

    def part_sums(self, ids: Sequence[int], parts: int) -> NDArray[np.float32]:
        """The weighted sums of `parts` slices of equally many ids, (parts, dimensions)."""
        edges = [len(ids) * part // parts for part in range(parts + 1)]
        if len(ids) > 4 * _BLOCK:  # little memory, and sums that stay exact
            return self._numpy.stack([self.sum(ids[start:end]) for start, end in pairwise(edges)])  # type: ignore[no-any-return]
        factors = self._numpy.zeros((parts, len(ids)), dtype="float32")
        for part, (start, end) in enumerate(pairwise(edges)):
            factors[part, start:end] = 1 if self._weights is None else self._weights.take(ids[start:end])
        return factors @ self.rows(ids)  # type: ignore[no-any-return]

    def _sum(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The weighted sum of at most _BLOCK token vectors, as a product with the row of their weights."""
        weights = self._ones[: len(ids)] if self._weights is None else self._weights.take(ids)
        total: NDArray[np.float32] = weights @ self.rows(ids)
        return total


def unit(total: NDArray[np.float32]) -> NDArray[np.float32]:
    """The direction of a sum of vectors, (dimensions,): a unit vector, or zeros."""
    length = float(total @ total) ** 0.5
    if 0 < length < float("inf"):
        return total / numpy().float32(length)  # type: ignore[no-any-return]
    return numpy().zeros_like(total)  # type: ignore[no-any-return]


def units(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """The direction of each row, (rows, dimensions): unit vectors, or zeros."""
    lengths = numpy().sqrt(numpy().einsum("ij,ij->i", sums, sums))
    lengths[lengths == 0] = 1
    return sums / lengths[:, None]  # type: ignore[no-any-return]


def open_table(file: TensorFile) -> TokenTable:
    """The table in a model2vec safetensors file. Raises EmbeddingError when its tensors do not fit."""
    vectors = map_tensor(file, "embeddings")
    if vectors.ndim != 2:
        raise EmbeddingError(f"{file.path} holds 'embeddings' that are no table.", HINT)
    if vectors.dtype not in ("int8", "float32"):  # numpy turns float16 into float32 at a crawl: do it once
        vectors = vectors.astype("float32")
    weights = map_tensor(file, "weights").astype("float32") if "weights" in file.tensors else None
    mapping = map_tensor(file, "mapping").astype("intp") if "mapping" in file.tensors else None
    table = TokenTable(vectors, weights, mapping)
    if mapping is not None and (mapping.ndim != 1 or not ((mapping >= 0) & (mapping < len(vectors))).all()):
        raise EmbeddingError(f"The 'mapping' in {file.path} names rows beyond 'embeddings'.", HINT)
    if weights is not None and weights.shape != (table.tokens,):
        raise EmbeddingError(f"The 'weights' in {file.path} do not fit its {table.tokens} tokens.", HINT)
    return table
