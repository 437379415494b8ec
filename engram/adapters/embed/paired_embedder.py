"""The embedder of a transformer that was measured together with the bundled model's vectors of single tokens.

The transformer compares a question with whole texts and passages, the bundled model word by word. It knows English alone,
so another transformer, which may know other languages, goes without.
"""

from __future__ import annotations

from engram.adapters.embed.cached_embedder import EncodedEmbedder
from engram.adapters.embed.neural import READ_GAIN
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.protocols import Embedder, Encoder
    from engram.adapters.embed.table import Nearness
    from engram.adapters.embed.vector_cache import VectorCache
    from engram.domain.recall.ranking import Trust


class MeasuredEmbedder(EncodedEmbedder):
    """An `EncodedEmbedder` with the tokens of the bundled model; its questions weigh what they do with `neural`."""

    def __init__(
        self,
        name: str,
        identity: str,
        encoder: Encoder,
        cache: VectorCache,
        now_ns: Callable[[], int] | None,
        bundled: Embedder,
        trust: Trust,
    ) -> None:
        """Ask the encoder for one vector if the dimensions are unknown. Raises EmbeddingError."""
        super().__init__(name, f"{identity}:{bundled.identity}", encoder, cache, now_ns, trust=trust)
        self._bundled = bundled

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, (dimensions,), of a length above 1. Raises EmbeddingError."""
        question: NDArray[np.float32] = self._one(text) * numpy_module().float32(READ_GAIN)
        return question

    def embed_available(
        self, texts: Sequence[str], parts: Sequence[int], most: int
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """Return the same as any slow model, and the tokens of each text by the bundled model. Raises EmbeddingError."""
        rows, there, _ = super().embed_available(texts, parts, most)
        return rows, there, self._bundled.embed_available(texts, parts, 0)[2]

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """Return how near the tokens of texts come to those of a query's words, by the bundled model."""
        return self._bundled.nearness(words, weights, texts)
