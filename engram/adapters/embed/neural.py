"""The embedder of the provider `neural`: a transformer reads entries in the background, the bundled model any text at once.

A vector has two halves: the bundled model's and the transformer's. Their weights depend on the question. The
transformer's half of a question is either computed by the transformer, or it is the bundled vector, mapped into the
transformer's space by a matrix that was fitted beforehand. The latter also serves for entries not read yet.
"""

from __future__ import annotations

from engram.adapters.embed.cached_embedder import EncodedEmbedder
from engram.adapters.embed.minilm import DIMENSIONS
from engram.adapters.embed.question_map import MAP_FILE, read_map
from engram.adapters.embed.table import unit, units
from engram.adapters.numeric import numpy_module
from engram.domain.recall.ranking import BUNDLED, Trust
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.minilm_question import QuestionReader
    from engram.adapters.embed.protocols import Embedder, Encoder, PlainModel
    from engram.adapters.embed.question_map import QuestionMap
    from engram.adapters.embed.table import Nearness
    from engram.adapters.embed.vector_cache import VectorCache

# The share of the bundled model's cosine in the mean of both, and the weight of that mean against words, for a question
# that is mapped (of up to _SHORT characters, and from _LONG on) and for one that the transformer reads.
MAPPED_SHARE, _LONG_SHARE, _READ_SHARE = 0.3, 0.7, 0.05
_MAPPED_GAIN, _LONG_GAIN, READ_GAIN = 1.4, 1.0, 1.15
_SHORT, _LONG = 60, 120
MAPPED_TRUST = Trust(by_chance=0.06)
READ_TRUST = Trust(coverage=0.5, missing=0.77, by_chance=0.16)
_HALF = 0.5**0.5  # the length of each half of an entry's vector, which has length 1


class NeuralEmbedder:
    """An `Embedder` whose entries a transformer reads, with a cache, and whose questions are mapped into its space."""

    name = "neural"
    costly = True

    def __init__(
        self,
        identity: str,
        bundled: Embedder,
        transformer: EncodedEmbedder,
        reader: QuestionReader | None = None,
    ) -> None:
        """Without a `reader`, questions are mapped."""
        self.identity = identity
        self.bundled = bundled
        self.transformer = transformer
        self.dimensions = bundled.dimensions + DIMENSIONS
        self.reader = reader
        self._map: QuestionMap | None = None

    @property
    def trust(self) -> Trust:
        """The trust of questions that are read or mapped."""
        return READ_TRUST if self.reader else MAPPED_TRUST

    @property
    def immediate(self) -> Embedder:
        """The bundled model."""
        return self.bundled

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, as for entries. Raises EmbeddingError."""
        return self.embed_parts(texts, [1] * len(texts))

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Return vectors of texts and their parts by both models: unit rows or zeros. Raises EmbeddingError."""
        read = self.transformer.embed_parts(texts, parts)
        return _join_halves(self.bundled.embed_parts(texts, parts), read, _HALF, _HALF)

    def embed_available(
        self,
        texts: Sequence[str],
        parts: Sequence[int],
        most: int,  # noqa: ARG002 - the transformer works only in the background
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """Return rows without waiting: the mapped bundled vector replaces the transformer's half of unread texts."""
        static, _, tokens = self.bundled.embed_available(texts, parts, 0)
        read, available, _ = self.transformer.embed_available(texts, parts, 0)
        unread = ~read.any(axis=1)
        if unread.any():
            read[unread] = units(self._question_map().of(static[unread]))
        return _join_halves(static, read, _HALF, _HALF), available, tokens

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, (dimensions,); its product with an entry's is their cosine. Raises EmbeddingError."""
        static = self.bundled.embed_one(text)
        if self.reader:
            return _question_vector(static, self.reader.read(text), _factors(_READ_SHARE, READ_GAIN))
        return _question_vector(static, unit(self._question_map().of(static)), _mapped_factors(text))

    def without_numpy(self) -> PlainModel | None:
        """Return the model that maps a question without numpy; None if questions are read. Raises EmbeddingError."""
        plain = self.bundled.without_numpy() if self.reader is None else None
        if plain is None:
            return None
        from engram.adapters.embed.pure_python_model import PlainNeural

        return PlainNeural(plain, self._question_map(), _mapped_factors)

    def substitute_for(self, model: str) -> Embedder | None:
        """Return the embedder that queries an index of `model` by the bundled vectors alone; None for other models."""
        if model == self.identity:
            return BundledHalf(self)
        return self.bundled if model == self.bundled.identity else None

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the bundled model's cosine of a text with each of the others, at once. Raises EmbeddingError."""
        return self.bundled.similarities(text, others)

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """Return the nearness of the tokens of texts to those of a query's words, by the bundled model."""
        return self.bundled.nearness(words, weights, texts)

    def share(self, other: Embedder) -> None:
        """Take over the loaded models of another store's embedder."""
        if isinstance(other, NeuralEmbedder):
            self.bundled = other.bundled
            if self.reader and other.reader:
                self.reader = other.reader
            self.transformer.share(other.transformer)

    def drop_unused(self) -> None:
        """Drop the cached vectors of unused texts, and the cached words."""
        self.bundled.drop_unused()
        self.transformer.drop_unused()

    def _question_map(self) -> QuestionMap:
        if self._map is None:
            self._map = read_map(MAP_FILE, self.bundled.dimensions)
        return self._map


class BundledHalf(NeuralEmbedder):
    """Queries by the bundled vectors alone, which every entry has, whether the transformer has read it or not."""

    def __init__(self, whole: NeuralEmbedder) -> None:
        super().__init__(whole.identity, whole.bundled, whole.transformer)

    @property
    def trust(self) -> Trust:
        """The bundled model's trust."""
        return BUNDLED

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, (dimensions,); its product with an entry's is the bundled model's cosine."""
        static = self.bundled.embed_one(text)
        return _question_vector(static, numpy_module().zeros(DIMENSIONS, "float32"), _factors(1.0))

    def without_numpy(self) -> PlainModel | None:
        """Return the model that queries by the bundled vectors without numpy. Raises EmbeddingError."""
        plain = self.bundled.without_numpy()
        if plain is None:
            return None
        from engram.adapters.embed.pure_python_model import PlainNeural

        return PlainNeural(plain, self._question_map(), lambda _: _factors(1.0))


class MeasuredEmbedder(EncodedEmbedder):
    """The embedder of a transformer that was measured together with the bundled model's vectors of single tokens.

    The transformer compares a question with whole texts and passages, the bundled model compares words. The latter knows
    only English, so it is not used with other transformers, which may know more languages. Weights are those of `neural`.
    """

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
        """Return the rows as any slow model does, and the tokens of each text by the bundled model. Raises EmbeddingError."""
        rows, available, _ = super().embed_available(texts, parts, most)
        return rows, available, self._bundled.embed_available(texts, parts, 0)[2]

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """Return the nearness of the tokens of texts to those of a query's words, by the bundled model."""
        return self._bundled.nearness(words, weights, texts)


def _question_vector(
    static: NDArray[np.float32], read: NDArray[np.float32], factors: tuple[float, float]
) -> NDArray[np.float32]:
    """Return the vector of a question; its product with an entry's is the weighted cosine of both models."""
    return _join_halves(static[None], read[None], *factors)[0]  # type: ignore[no-any-return]


def _mapped_factors(text: str) -> tuple[float, float]:
    """Return the factors of a mapped question.

    The map is least reliable for long questions, and long texts are similar anyway, so for these words count more.
    """
    length = min(max((len(text) - _SHORT) / (_LONG - _SHORT), 0.0), 1.0)
    return _factors(
        MAPPED_SHARE + length * (_LONG_SHARE - MAPPED_SHARE),
        _MAPPED_GAIN + length * (_LONG_GAIN - _MAPPED_GAIN),
    )


def _factors(share: float, gain: float = 1.0) -> tuple[float, float]:
    """Return the factors of both halves of a question that make its product with an entry a mean of cosines.

    `share` is the weight of the bundled model's cosine, `gain` a factor on the mean.
    """
    return gain * share / _HALF, gain * (1 - share) / _HALF


def _join_halves(
    static: NDArray[np.float32], read: NDArray[np.float32], first: float, second: float
) -> NDArray[np.float32]:
    """Return rows of both halves, each times its factor."""
    numpy = numpy_module()
    halves = [static * numpy.float32(first), read * numpy.float32(second)]
    return numpy.concatenate(halves, axis=1)  # type: ignore[no-any-return]
