"""A loaded static embedding model: a text's vector is the direction of the mean of its tokens' vectors."""

from __future__ import annotations

from engram.adapters.embed.table import Nearness, TokenDirections, TokenTable, units
from engram.adapters.embed.tokenizing import ID_FORMAT
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.protocols import Tokenizer


class StaticModel:
    """A tokenizer with the table of its tokens' vectors."""

    def __init__(self, tokenizer: Tokenizer, table: TokenTable) -> None:
        self.tokenizer = tokenizer
        self.table = table
        self._dimensions = table.dimensions
        self._directions = TokenDirections(table)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, (len(texts), dimensions): of length 1, or zeros. Raises EmbeddingError."""
        rows: NDArray[np.float32] = numpy_module().empty((len(texts), self._dimensions), dtype="float32")
        for number, text in enumerate(texts):
            rows[number] = self.embed_one(text)
        return rows

    def embed_parts(
        self, texts: Sequence[str], parts: Sequence[int]
    ) -> tuple[NDArray[np.float32], list[bytes]]:
        """Return vectors of texts and their parts, (rows, dimensions): unit rows or zeros; and the tokens of each text.

        Text `i` gives one row, and if `parts[i]` is more than 1, that many further rows for slices of equally many
        tokens. It is tokenised once, and its sum is the sum of its parts. Raises EmbeddingError.
        """
        count = sum(1 if number == 1 else number + 1 for number in parts)
        sums: NDArray[np.float32] = numpy_module().empty((count, self._dimensions), dtype="float32")
        at = 0
        # All tokens first, then all vectors: each pass then works on memory in the processor's cache.
        tokens = list(map(self._ids, texts))
        if count == len(texts) and self.table.short_sums(tokens, sums):
            return units(sums), list(map(self._directions.packed, tokens))
        for ids, number in zip(tokens, parts, strict=True):
            if number > 1:
                slices = sums[at + 1 : at + 1 + number]
                self.table.part_sums(ids, slices)
                slices.sum(axis=0, out=sums[at])
                at += number + 1
            else:
                self.table.sum(ids, sums[at])
                at += 1
        return units(sums), list(map(self._directions.packed, tokens))

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one text, (dimensions,): of length 1, or zeros. Raises EmbeddingError."""
        return self.table.unit_mean(self._ids(text))

    def nearness(self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]) -> Nearness:
        """Return the nearness of the tokens of texts to those of a query's words. Raises EmbeddingError, ValueError."""
        directions = self._directions
        query = directions.query_tokens(list(map(self.tokenizer.ids, words)), weights)
        return Nearness(query, directions.nearest(query, texts), directions.lengths(texts))

    def _ids(self, text: str) -> NDArray[np.integer]:
        """Return the ids of a text's tokens, (tokens,)."""
        return numpy_module().frombuffer(self.tokenizer.packed(text), ID_FORMAT)  # type: ignore[no-any-return]
