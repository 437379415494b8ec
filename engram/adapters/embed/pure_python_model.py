"""The bundled model without numpy, for the first queries of a process: importing numpy takes longer than a query.

It computes the same as `model` and `table`, with Python's integers and the kernels of numkong; a test compares both.
"""

from __future__ import annotations

import mmap
import struct
from itertools import pairwise
from operator import mul

from engram.adapters.embed.late_interaction import (
    COMPARED,
    MAX_QUERY_TOKENS,
    SCALE,
    STRETCH,
    TINY,
    PlainNearness,
    heaviest_tokens,
)
from engram.adapters.embed.model_files import TABLE
from engram.adapters.int8_products import products, sum_of_products, unit_rows
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from engram.adapters.embed.model_files import TensorFile
    from engram.adapters.embed.protocols import PlainModel, Tokenizer
    from engram.adapters.embed.question_map import QuestionMap


class PurePythonModel:
    """A tokenizer with the int8 table of its tokens' vectors."""

    def __init__(self, file: TensorFile, tokenizer: Tokenizer) -> None:
        """Map the file. Raises OSError, KeyError."""
        with open(file.path, "rb") as opened:
            self._data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        tensor = file.tensors[TABLE]
        self._start = tensor.start
        self._tokens = tensor.shape[0]
        self._row = struct.Struct(f"{tensor.shape[1]}b")
        self._tokenizer = tokenizer

    def direction(self, text: str) -> list[int]:
        """Return the direction of a text as int8 numbers, as an index stores it; [] without known words."""
        rows = list(map(self._vector, self._tokenizer.ids(text)))
        return _quantise(list(map(sum, zip(*rows, strict=True)))) if rows else []

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of a text with each of the others, 0 without known words."""
        width = self._row.size
        own, *rest = (self._rows(self._tokenizer.ids(content), width) for content in (text, *others))
        return [_cosine(own, other, width) for other in rest]

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> PlainNearness:
        """Return the nearness of the tokens of texts to those of a query's words. Raises ValueError."""
        heaviest = heaviest_tokens(list(map(self._tokenizer.ids, words)), weights)
        vectors = {token: self._vector(token) for token in heaviest}
        shares = {
            token: sum(map(mul, vectors[token], vectors[token])) ** 0.5 * weight
            for token, (weight, _) in heaviest.items()
        }
        tokens = list(shares)
        if len(tokens) > MAX_QUERY_TOKENS:
            top = set(sorted(tokens, key=lambda token: -shares[token])[:MAX_QUERY_TOKENS])
            tokens = [token for token in tokens if token in top]
        total = max(sum(shares[token] for token in tokens), TINY)
        share = [shares[token] / total for token in tokens]
        stored = [memoryview(text).cast("H") for text in texts]
        near = self._products(tokens, {token for text in stored for token in text})
        best = [_best(text, near, share) for text in stored]
        owners = [heaviest[token][1] for token in tokens]
        return PlainNearness(
            share, owners, [part for part, _ in best], [whole for _, whole in best], list(map(len, stored))
        )

    def _vector(self, token: int) -> tuple[int, ...]:
        return self._row.unpack_from(self._data, self._start + token * self._row.size)

    def _products(self, query: Sequence[int], stored: Iterable[int]) -> dict[int, list[float]]:
        """Return for each stored token its products with the tokens of the query."""
        tokens = list(stored)
        if not tokens or not query:
            return {}
        if max(tokens) >= self._tokens:
            raise ValueError("the index holds tokens that the model does not have")
        width = min(COMPARED, self._row.size)
        found = products(self._directions(tokens, width), self._directions(query, width), width)
        size = len(query)
        return {token: found[at * size : (at + 1) * size] for at, token in enumerate(tokens)}

    def _directions(self, tokens: Sequence[int], width: int) -> bytes:
        """Return the directions of tokens as int8 numbers, `width` of each."""
        return unit_rows(self._rows(tokens, width), width, SCALE)

    def _rows(self, tokens: Sequence[int], width: int) -> bytes:
        """Return the vectors of tokens, `width` numbers of each."""
        starts = [self._start + token * self._row.size for token in tokens]
        return b"".join([self._data[start : start + width] for start in starts])


class PlainNeural:
    """The same for `neural`: the bundled vector and the mapped one, each times its factor, which depends on the text."""

    def __init__(
        self, bundled: PlainModel, mapping: QuestionMap, factors: Callable[[str], tuple[float, float]]
    ) -> None:
        self.nearness = bundled.nearness
        self._bundled = bundled
        self._mapping = mapping
        self._factors = factors

    def direction(self, text: str) -> list[int]:
        """Return the direction of a text as int8 numbers, as an index stores it; [] without known words."""
        static = self._bundled.direction(text)
        if not static:
            return []
        first, second = self._factors(text)
        return _quantise(static, first) + _quantise(self._mapping.of_direction(static), second)


def _quantise(vector: Sequence[float], length: float = 1.0) -> list[int]:
    """Return the direction of a vector, times `length`, as int8 numbers; zeros for zeros."""
    own = sum(map(mul, vector, vector)) ** 0.5
    factor = SCALE * length / own if own else 0.0
    found = [round(value * factor) for value in vector]
    if max(found) > 127 or min(found) < -127:
        found = [min(max(value, -127), 127) for value in found]
    return found


def _cosine(one: bytes, other: bytes, width: int) -> float:
    """Return the cosine of the sums of two texts' vectors."""
    if not one or not other:
        return 0.0
    lengths = sum_of_products(one, one, width) * sum_of_products(other, other, width)
    return float(sum_of_products(one, other, width) / lengths**0.5) if lengths else 0.0


def _best(
    tokens: Sequence[int], near: dict[int, list[float]], shares: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the largest cosines with the tokens of a text, from products: in the best stretch, and in the whole text."""
    if not tokens or not shares:
        return [0.0] * len(shares), [0.0] * len(shares)
    step = STRETCH // 2
    rows = [near[token] for token in tokens]
    halves = [list(map(max, zip(*rows[at : at + step], strict=True))) for at in range(0, len(rows), step)]
    stretches = [list(map(max, one, other)) for one, other in pairwise(halves)]
    stretches.append(halves[-1])
    best = max(stretches, key=lambda stretch: sum(map(mul, stretch, shares)))
    return _cosines(best), _cosines(list(map(max, zip(*halves, strict=True))))


def _cosines(found: Sequence[float]) -> list[float]:
    return [min(max(value / SCALE**2, 0.0), 1.0) for value in found]
