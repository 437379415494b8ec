"""A static embedding model: a text's vector is the direction of the mean of its tokens' vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.numeric import numpy
from engram.adapters.embed.table import TokenTable, open_table, units
from engram.adapters.embed.tensorfile import HINT, TensorFile
from engram.adapters.embed.tokenizers_library import ID_FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.tokenizing import SizedTokenizer, Tokenizer


class _Model(NamedTuple):
    """A loaded model."""

    tokenizer: Tokenizer
    table: TokenTable

    def ids(self, text: str) -> NDArray[np.integer]:
        """The ids of a text's tokens, (tokens,)."""
        return numpy().frombuffer(self.tokenizer.packed(text), ID_FORMAT)  # type: ignore[no-any-return]


class StaticEmbedder:
    """An `Embedder` over a model2vec table; vectors of length 1 whatever its config.json says."""

    def __init__(
        self,
        name: str,
        identity: str,
        file: TensorFile,
        open_tokenizer: Callable[[], SizedTokenizer],
    ) -> None:
        self.name = name
        self.identity = identity
        self.dimensions = _dimensions(file)
        self._file = file
        self._open_tokenizer = open_tokenizer
        self._loaded: _Model | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, (len(texts), dimensions): of length 1, or zeros. Raises EmbeddingError."""
        model = self._model()
        rows: NDArray[np.float32] = numpy().empty((len(texts), self.dimensions), dtype="float32")
        for number, text in enumerate(texts):
            rows[number] = model.table.unit_mean(model.ids(text))
        return rows

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Vectors of texts and of their parts, (rows, dimensions): unit rows or zeros. Raises EmbeddingError.

        Text `i` gives one row, and where `parts[i]` is more than 1, one more for each of so many slices of
        equally many tokens, after the row of the whole. It is tokenised once, and its sum is that of its parts.
        """
        model = self._model()
        count = sum(1 if number == 1 else number + 1 for number in parts)
        sums: NDArray[np.float32] = numpy().empty((count, self.dimensions), dtype="float32")
        at = 0
        # Words of all first, vectors after: each finds its memory in the processor's cache.
        for ids, number in zip(list(map(model.ids, texts)), parts, strict=True):
            if number > 1:
                slices = sums[at + 1 : at + 1 + number]
                model.table.part_sums(ids, slices)
                slices.sum(axis=0, out=sums[at])
                at += number + 1
            else:
                model.table.sum(ids, sums[at])
                at += 1
        return units(sums)

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """The vector of one text, (dimensions,), equal to its row in `embed`. Raises EmbeddingError."""
        model = self._model()
        return model.table.unit_mean(model.ids(text))

    def token_ids(self, text: str) -> list[int]:
        """The ids of a text's tokens, in order, unknown ones left out. Raises EmbeddingError."""
        return self._model().tokenizer.ids(text)

    def token_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of tokens as unit or zero rows, (len(ids), dimensions). Raises EmbeddingError."""
        return units(self._model().table.rows(numpy().array(ids, dtype="intc")))

    def _model(self) -> _Model:
        """The model, loaded at the first call. Two threads may both load it: either result serves."""
        if self._loaded is None:
            tokenizer, tokens = self._open_tokenizer()
            table = open_table(self._file)
            if tokens > table.tokens:
                counts = f"{tokens} words and only {table.tokens} vectors"
                raise EmbeddingError(f"The model {self._file.path} has {counts}.", HINT)
            self._loaded = _Model(tokenizer, table)
        return self._loaded


def _dimensions(file: TensorFile) -> int:
    """The length of the vectors in a model file. Raises EmbeddingError when it holds no table of vectors."""
    table = file.tensors.get("embeddings")
    if table is None or len(table.shape) != 2 or 0 in table.shape:
        raise EmbeddingError(f"{file.path} holds no table of token vectors called 'embeddings'.", HINT)
    return table.shape[1]
