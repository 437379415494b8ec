"""The embedder of the provider `neural`: a transformer reads entries in the background, the bundled table reads all texts at once.

A vector has two halves: the bundled model's and the transformer's. How much each counts, the question decides. The
transformer's half of a question is what the transformer makes of it, or the bundled vector, mapped into the transformer's
space by a matrix that was fitted beforehand. So it is with an entry that has not been read yet.
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

# The share of the bundled model's cosine in that of both, and what that counts against words, for a question that is
# mapped (of up to _SHORT characters, and from _LONG on) and for one that the transformer reads.
MAPPED_SHARE, _LONG_SHARE, _READ_SHARE = 0.3, 0.7, 0.05
_MAPPED_GAIN, _LONG_GAIN, READ_GAIN = 1.4, 1.0, 1.15
_SHORT, _LONG = 60, 120
MAPPED_TRUST = Trust(by_chance=0.06)
READ_TRUST = Trust(coverage=0.5, missing=0.77, by_chance=0.16)
_HALF = 0.5**0.5  # an entry's vector is a unit vector of two parts, equally long


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
        """That of questions that are read, or mapped."""
        return READ_TRUST if self.reader else MAPPED_TRUST

    @property
    def immediate(self) -> Embedder:
        """The bundled model."""
        return self.bundled

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, as an entry has it. Raises EmbeddingError."""
        return self.embed_parts(texts, [1] * len(texts))

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Return vectors of texts and of their parts, read by both models: unit rows or zeros. Raises EmbeddingError."""
        read = self.transformer.embed_parts(texts, parts)
        return _join_halves(self.bundled.embed_parts(texts, parts), read, _HALF, _HALF)

    def embed_available(
        self,
        texts: Sequence[str],
        parts: Sequence[int],
        most: int,  # noqa: ARG002 - the transformer works in the background alone
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """Return the rows without waiting: where the transformer has not read a text, the bundled vector, mapped, stands in."""
        static, _, tokens = self.bundled.embed_available(texts, parts, 0)
        read, there, _ = self.transformer.embed_available(texts, parts, 0)
        unread = ~read.any(axis=1)
        if unread.any():
            read[unread] = units(self._question_map().of(static[unread]))
        return _join_halves(static, read, _HALF, _HALF), there, tokens

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, (dimensions,), whose product with an entry's is their cosine. Raises EmbeddingError."""
        static = self.bundled.embed_one(text)
        if self.reader:
            return _question(static, self.reader.read(text), _factors(_READ_SHARE, READ_GAIN))
        return _question(static, unit(self._question_map().of(static)), _mapped_factors(text))

    def without_numpy(self) -> PlainModel | None:
        """Return the model that maps a question without numpy; None where questions are read. Raises EmbeddingError."""
        plain = self.bundled.without_numpy() if self.reader is None else None
        if plain is None:
            return None
        from engram.adapters.embed.pure_python_model import PlainNeural

        return PlainNeural(plain, self._question_map(), _mapped_factors)

    def substitute_for(self, model: str) -> Embedder | None:
        """Return what asks an index of this identity by the bundled vectors alone; None for that of another model."""
        if model == self.identity:
            return BundledHalf(self)
        return self.bundled if model == self.bundled.identity else None

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the bundled model's cosine of a text with each of the others: nobody waits for it. Raises EmbeddingError."""
        return self.bundled.similarities(text, others)

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """Return how near the tokens of texts come to those of a query's words, by the bundled model."""
        return self.bundled.nearness(words, weights, texts)

    def share(self, other: Embedder) -> None:
        """Take over the loaded models of another store's embedder."""
        if isinstance(other, NeuralEmbedder):
            self.bundled = other.bundled
            if self.reader and other.reader:
                self.reader = other.reader
            self.transformer.share(other.transformer)

    def drop_unused(self) -> None:
        """Drop the cached vectors of texts that are gone, and what only makes the next text quick."""
        self.bundled.drop_unused()
        self.transformer.drop_unused()

    def _question_map(self) -> QuestionMap:
        if self._map is None:
            self._map = read_map(MAP_FILE, self.bundled.dimensions)
        return self._map


class BundledHalf(NeuralEmbedder):
    """Asks by the bundled vectors alone: each entry has its own, whether the transformer has read it or not."""

    def __init__(self, whole: NeuralEmbedder) -> None:
        super().__init__(whole.identity, whole.bundled, whole.transformer)

    @property
    def trust(self) -> Trust:
        """The bundled model's."""
        return BUNDLED

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, (dimensions,), whose product with an entry's is the bundled model's cosine."""
        static = self.bundled.embed_one(text)
        return _question(static, numpy_module().zeros(DIMENSIONS, "float32"), _factors(1.0))

    def without_numpy(self) -> PlainModel | None:
        """Return the model that asks by the bundled vectors without numpy. Raises EmbeddingError."""
        plain = self.bundled.without_numpy()
        if plain is None:
            return None
        from engram.adapters.embed.pure_python_model import PlainNeural

        return PlainNeural(plain, self._question_map(), lambda _: _factors(1.0))


class MeasuredEmbedder(EncodedEmbedder):
    """The embedder of a transformer that was measured together with the bundled model's vectors of single tokens.

    It compares a question with whole texts and passages, the bundled model word by word. That knows English alone, so another
    transformer, which may know other languages, goes without. Questions weigh what they do with `neural`.
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
        """Return the same as any slow model, and the tokens of each text by the bundled model. Raises EmbeddingError."""
        rows, there, _ = super().embed_available(texts, parts, most)
        return rows, there, self._bundled.embed_available(texts, parts, 0)[2]

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """Return how near the tokens of texts come to those of a query's words, by the bundled model."""
        return self._bundled.nearness(words, weights, texts)


def _question(
    static: NDArray[np.float32], read: NDArray[np.float32], factors: tuple[float, float]
) -> NDArray[np.float32]:
    """Return a question's vector, whose product with an entry's is the cosine of both models that the factors make."""
    return _join_halves(static[None], read[None], *factors)[0]  # type: ignore[no-any-return]


def _mapped_factors(text: str) -> tuple[float, float]:
    """Return the factors of a mapped question.

    The map knows least of long ones, and two long texts are near each other anyway: there words decide.
    """
    length = min(max((len(text) - _SHORT) / (_LONG - _SHORT), 0.0), 1.0)
    return _factors(
        MAPPED_SHARE + length * (_LONG_SHARE - MAPPED_SHARE),
        _MAPPED_GAIN + length * (_LONG_GAIN - _MAPPED_GAIN),
    )


def _factors(share: float, gain: float = 1.0) -> tuple[float, float]:
    """Return by how much both halves of a question are multiplied, such that its product with an entry is a mean of cosines.

    `share` is the weight of the bundled model's in it, `gain` what the mean is multiplied by.
    """
    return gain * share / _HALF, gain * (1 - share) / _HALF


def _join_halves(
    static: NDArray[np.float32], read: NDArray[np.float32], first: float, second: float
) -> NDArray[np.float32]:
    """Return rows of both halves, each times its factor."""
    numpy = numpy_module()
    halves = [static * numpy.float32(first), read * numpy.float32(second)]
    return numpy.concatenate(halves, axis=1)  # type: ignore[no-any-return]
