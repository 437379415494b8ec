"""The vectors of single tokens: their table, the mean that turns token ids into one unit vector, and late interaction."""

from __future__ import annotations

from itertools import accumulate, pairwise

from engram.adapters.embed.late_interaction import (
    COMPARED,
    MAX_QUERY_TOKENS,
    MAX_STORED_TOKENS,
    SCALE,
    STRETCH,
    TINY,
    TWO_BYTE_IDS,
    heaviest_tokens,
)
from engram.adapters.embed.rows import RowCache
from engram.adapters.numeric import dot_product_matrix, numpy_module
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.rows import TableRows

_SHORT = 8  # tokens of a single word, at most
_BLOCK = 256  # token rows summed at a time: sums of int8 fit int16, and float32 stays exact to 1e-6


class TokenTable:
    """Token vectors of one model: `vectors` (rows, dimensions), int8 or float, an array or the rows of a file.

    A model with a quantised vocabulary has fewer rows than tokens: `mapping` (tokens,) gives each token's row,
    `weights` (tokens,) the factor of its vector in the mean. Without them, row i is token i, factor 1.
    """

    def __init__(
        self,
        vectors: NDArray[np.generic] | TableRows,
        weights: NDArray[np.float32] | None = None,
        mapping: NDArray[np.intp] | None = None,
    ) -> None:
        self._numpy = numpy_module()
        self._vectors = vectors
        self._weights = weights
        self._mapping = mapping
        self._ones = self._numpy.ones(_BLOCK, dtype="float32")
        self._is_integer = vectors.dtype == "int8" and weights is None
        self._int16 = self._numpy.int16

    @property
    def tokens(self) -> int:
        """The number of token ids with a vector."""
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

    def short_sums(self, texts: Sequence[NDArray[np.integer]], totals: NDArray[np.float32]) -> bool:
        """Write the sums of short texts, one row each, to `totals` at once; return False, without writing, if that is impossible.

        It takes a quarter of the time for words, which have few tokens, and is possible for unweighted int8 rows.
        """
        lengths = list(map(len, texts))
        if not self._is_integer or not 0 < min(lengths, default=0) <= max(lengths) <= _SHORT:
            return False
        starts = [0, *accumulate(lengths[:-1])]
        rows = self._take(self._numpy.concatenate(texts))
        totals[:] = self._numpy.add.reduceat(rows, starts, axis=0, dtype=self._int16)
        return True

    def part_sums(self, ids: NDArray[np.integer], totals: NDArray[np.float32]) -> None:
        """Write the weighted sums of equal slices of the ids to `totals` (parts, dimensions)."""
        parts = len(totals)
        edges = [len(ids) * part // parts for part in range(parts + 1)]
        for total, (start, end) in zip(totals, pairwise(edges), strict=True):
            self.sum(ids[start:end], total)

    def _sum(self, ids: NDArray[np.integer], total: NDArray[np.float32]) -> None:
        """Write the weighted sum of at most _BLOCK token vectors."""
        if self._is_integer:
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


class QueryTokens(NamedTuple):
    """The distinct tokens of a query, the share of each (1 in all) and the number of its word."""

    tokens: NDArray[np.intp]
    shares: NDArray[np.float32]
    words: NDArray[np.intp]


class Nearness(NamedTuple):
    """For each query token and text the cosine of the nearest token, 0..1: (2, tokens, texts).

    The first is in the stretch of the text that is nearest to the whole query, the second in the whole text. `lengths`
    are those of the texts in tokens.
    """

    query: QueryTokens
    nearest: NDArray[np.float32]
    lengths: NDArray[np.intp]


class TokenDirections:
    """The directions of single tokens as int8 numbers, computed on first use."""

    def __init__(self, table: TokenTable) -> None:
        """Compute nothing yet."""
        self._table = table
        self._width = min(COMPARED, table.dimensions)
        self._stored_type = "<u2" if table.tokens <= TWO_BYTE_IDS else "<u4"
        self._directions = RowCache(table.tokens, self._width)

    def packed(self, ids: NDArray[np.integer]) -> bytes:
        """Pack token ids as an index stores them: two bytes each if the model has few enough, else four."""
        # Each once, so that the end of a long note is not lost.
        if len(ids) > MAX_STORED_TOKENS:
            ids = ids[numpy_module().sort(numpy_module().unique(ids, return_index=True)[1])]
        return ids[:MAX_STORED_TOKENS].astype(self._stored_type).tobytes()

    def query_tokens(self, words: Sequence[Sequence[int]], weights: Sequence[float]) -> QueryTokens:
        """Return the tokens of a query. `words` are the token ids of each word, `weights` the words' weights.

        The share of a token depends on the weight of its heaviest word and the length of its vector; of too many tokens
        the heaviest are returned.
        """
        heaviest = heaviest_tokens(words, weights)
        tokens = numpy_module().fromiter(heaviest, dtype="intp")
        rows = self._table.rows(tokens)
        lengths = numpy_module().sqrt(numpy_module().einsum("ij,ij->i", rows, rows))
        shares = lengths * [weight for weight, _ in heaviest.values()]
        owners = numpy_module().array([number for _, number in heaviest.values()], dtype="intp")
        if len(tokens) > MAX_QUERY_TOKENS:
            top = numpy_module().sort(numpy_module().argsort(-shares, kind="stable")[:MAX_QUERY_TOKENS])
            tokens, shares, owners = tokens[top], shares[top], owners[top]
        return QueryTokens(tokens, shares / max(shares.sum(), TINY), owners)

    def lengths(self, texts: Sequence[bytes]) -> NDArray[np.intp]:
        """Return the number of tokens of each packed text."""
        found: NDArray[np.intp] = numpy_module().array([len(text) for text in texts], dtype="intp")
        return found // int(self._stored_type[-1])

    def nearest(self, query: QueryTokens, texts: Sequence[bytes]) -> NDArray[np.float32]:
        """Return for each query token and packed text the cosine of the nearest token, 0..1: (2, tokens, texts).

        The first is in the best stretch, the second in the whole text. Raises ValueError for a text that `packed` did
        not make.
        """
        tokens = query.tokens
        stored = numpy_module().frombuffer(b"".join(texts), self._stored_type)
        # With texts before tokens the cosines of a text are adjacent, which is a fifth faster.
        found: NDArray[np.float32] = numpy_module().zeros((2, len(texts), len(tokens)), dtype="float32")
        if len(tokens) and len(stored):
            ids = stored.astype("intp")  # here, since numpy would convert it for each use as an index
            if ids.max() >= self._table.tokens:
                raise ValueError("the index holds tokens that the model does not have")
            distinct, places = self._distinct(ids)
            directions = (self._directions.take(some, self._compute) for some in (distinct, tokens))
            cosines = dot_product_matrix(*directions).take(places, axis=0)
            lengths = self.lengths(texts)
            filled = lengths.nonzero()[0]
            found[0, filled], found[1, filled] = _nearest(cosines, lengths[filled], query.shares)
            numpy_module().minimum(numpy_module().maximum(found, 0, out=found), SCALE**2, out=found)
            found *= 1 / SCALE**2
        return found.transpose(0, 2, 1)

    def _distinct(self, ids: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the distinct ids, and the place of each of `ids` among them, in a tenth of the time of `numpy.unique`."""
        places = numpy_module().arange(len(ids))
        last_places = numpy_module().empty(self._table.tokens, dtype="intp")
        last_places[ids] = places
        last = last_places.take(ids)
        chosen = (last == places).nonzero()[0]
        places[chosen] = numpy_module().arange(len(chosen))
        return ids.take(chosen), places.take(last)

    def _compute(self, ids: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the directions of tokens, (len(ids), COMPARED)."""
        directions = units(self._table.rows(ids)[:, : self._width].copy())
        directions *= SCALE
        return numpy_module().rint(directions, out=directions).clip(-127, 127, out=directions)  # type: ignore[no-any-return]


def _nearest(
    cosines: NDArray[np.int32], lengths: NDArray[np.intp], shares: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return for each text and query token the largest cosine in the best stretch and in the whole text: (texts, tokens).

    `cosines` (tokens of all texts, query tokens) are of texts of `lengths` tokens, none empty. The best stretch has
    the largest cosines weighted by the tokens' shares; stretches overlap by half.
    """
    step = STRETCH // 2
    halves = -(-lengths // step)
    ends = halves.cumsum()
    first = ends - halves  # of each text
    starts = lengths.cumsum() - lengths
    places = (starts - step * first).repeat(halves) + step * numpy_module().arange(ends[-1])
    nearest: NDArray[np.int32] = numpy_module().maximum.reduceat(cosines, places, axis=0)
    if len(places) == len(lengths):
        return nearest, nearest
    stretches = nearest.copy()
    numpy_module().maximum(nearest[:-1], nearest[1:], out=stretches[:-1])
    last = ends - 1  # the next half belongs to another text
    stretches[last] = nearest[last]
    values = stretches @ shares
    owners = numpy_module().arange(len(lengths)).repeat(halves)
    best = (values == numpy_module().maximum.reduceat(values, first)[owners]).nonzero()[0][::-1]
    chosen = numpy_module().empty(len(lengths), dtype="intp")
    chosen[owners[best]] = best  # the first of equal ones
    return stretches.take(chosen, axis=0), numpy_module().maximum.reduceat(nearest, first, axis=0)
