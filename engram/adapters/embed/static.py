"""The embedder of a static model: name, identity and dimensions at once, everything else with the first text."""

from __future__ import annotations

import sys

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import HINT, TensorFile
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.model import StaticModel
    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.embed.table import Nearness
    from engram.adapters.embed.tokenizing import SizedTokenizer

_OF_A_COMMAND = 2


class StaticEmbedder:
    """An `Embedder` over a model2vec table; vectors have length 1 whatever its config.json says."""

    costly = False

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
        self._loaded: StaticModel | None = None
        self._asked = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, (len(texts), dimensions): of length 1, or zeros. Raises EmbeddingError."""
        return self._model().embed(texts)

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Return vectors of texts and of their parts, (rows, dimensions): unit rows or zeros. Raises EmbeddingError."""
        return self._model().embed_parts(texts, parts)[0]

    def embed_available(
        self,
        texts: Sequence[str],
        parts: Sequence[int],
        most: int,  # noqa: ARG002 - they all cost next to nothing
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """Return the same, that all are available, and the tokens of each text. Raises EmbeddingError."""
        vectors, tokens = self._model().embed_parts(texts, parts)
        return vectors, [True] * len(texts), tokens

    def share(self, other: Embedder) -> None:
        """Do nothing: queries are not cached."""

    def drop_unused(self) -> None:
        """Free what only makes the next text quick; nothing else is cached."""
        if self._loaded is not None:
            self._loaded.tokenizer.forget()

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one text, (dimensions,), equal to its row in `embed`. Raises EmbeddingError."""
        return self._model().embed_one(text)

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of a text with each of the others. Raises EmbeddingError.

        The first calls of a process do without numpy, as a command makes one or two; later ones use it.
        """
        if "numpy" not in sys.modules and self._asked < _OF_A_COMMAND:
            from engram.adapters.embed import pure_python_cosine

            self._asked += 1
            tokenizer, tokens = self._open_tokenizer()
            if pure_python_cosine.fits(self._file, tokens):
                return pure_python_cosine.similarities(self._file, tokenizer, text, others)
        one, *rest = self.embed([text, *others])
        return [float(one @ other) for other in rest]

    def token_ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, in order, without unknown ones. Raises EmbeddingError."""
        return self._model().tokenizer.ids(text)

    def nearness(self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]) -> Nearness:
        """Return how near the tokens of texts come to those of a query's words. Raises EmbeddingError, ValueError."""
        return self._model().nearness(words, weights, texts)

    def _model(self) -> StaticModel:
        """Load the model on the first call. Two threads may both load it, with the same result."""
        if self._loaded is None:
            from engram.adapters.embed.model import StaticModel
            from engram.adapters.embed.table import open_table

            tokenizer, tokens = self._open_tokenizer()
            table = open_table(self._file)
            if tokens > table.tokens:
                counts = f"{tokens} words and only {table.tokens} vectors"
                raise EmbeddingError(f"The model {self._file.path} has {counts}.", HINT)
            self._loaded = StaticModel(tokenizer, table, self.dimensions)
        return self._loaded


def _dimensions(file: TensorFile) -> int:
    """Return the length of the vectors in a model file. Raises EmbeddingError if it has no table of vectors."""
    table = file.tensors.get("embeddings")
    if table is None or len(table.shape) != 2 or 0 in table.shape:
        raise EmbeddingError(f"{file.path} has no table of token vectors called 'embeddings'.", HINT)
    return table.shape[1]
