"""The interfaces of embedding providers and tokenizers, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.late_interaction import PlainNearness
    from engram.adapters.embed.table import Nearness
    from engram.domain.recall.ranking import Trust


class Embedder(Protocol):
    """Texts to unit vectors.

    `name` is the provider ("bundled", "neural", "path", "onnx", "endpoint"); `identity` changes whenever its vectors do,
    so vectors of another identity have to be made again. `costly` says that the vectors of many entries are too slow to
    wait for. Safe to use from several threads.
    """

    @property
    def name(self) -> str:
        """The provider's name."""

    @property
    def identity(self) -> str:
        """The origin of the vectors: provider, model and method."""

    @property
    def dimensions(self) -> int:
        """The length of every vector."""

    @property
    def costly(self) -> bool:
        """Whether vectors are made in the background and cached."""

    @property
    def trust(self) -> Trust | None:
        """How evidence is computed from these cosines; None if that was not measured."""

    @property
    def immediate(self) -> Embedder | None:
        """An embedder that embeds any text at once, to compare texts that are not in the index; None if there is none."""

    def without_numpy(self) -> PlainModel | None:
        """Return a model for one question without numpy; None if there is none or it is no faster. Raises EmbeddingError."""

    def substitute_for(self, model: str) -> Embedder | None:
        """Return an embedder for an index of the identity `model` while most entries lack vectors; None if there is none."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, (len(texts), dimensions): of length 1, or zeros for a text without known words."""

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Return rows for each text: of the whole, and if `parts[i]` > 1, of that many slices of about equal length."""

    def embed_available(
        self, texts: Sequence[str], parts: Sequence[int], most: int
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """Return the rows of `embed_parts` that are available without waiting (else zeros), and which texts have theirs.

        Also return each text's tokens, for `nearness`; none if single tokens have no vectors. A costly provider returns
        cached rows, and makes the rest if there are at most `most` slices.
        """

    def share(self, other: Embedder) -> None:
        """Share the cache of queries with another embedder of the same identity."""

    def drop_unused(self) -> None:
        """Drop all cached vectors except those used since this was opened, which by then include every text of the store."""

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one text, (dimensions,)."""

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of a text with each of the others; cheap for few texts. Raises EmbeddingError."""

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """Return the nearness of the tokens of `texts` to those of a query's `words`, each with its weight.

        None if single tokens have no vectors. Raises ValueError for bytes that are not tokens.
        """


class PlainModel(Protocol):
    """A model that embeds one question without numpy."""

    def direction(self, text: str) -> list[int]:
        """Return the vector of a question as int8 numbers, as an index stores it; [] without known words."""

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> PlainNearness:
        """Return the nearness of the tokens of texts to those of a query's words. Raises ValueError."""


class Encoder(Protocol):
    """Makes vectors of texts slowly: a transformer, or a remote service."""

    def encode(self, texts: Sequence[str], *, patient: bool) -> NDArray[np.float32]:
        """Return one row per text, of any length except 0; a `patient` caller can wait. Raises EmbeddingError."""


class Tokenizer(Protocol):
    """Texts to token ids."""

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, whole, without special tokens and without unknown ones."""

    def packed(self, text: str) -> bytes:
        """Return the same as C ints, one after the other."""

    def forget(self) -> None:
        """Clear the caches of words, after many texts."""
