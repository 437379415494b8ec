"""What an embedding provider and its tokenizer can do, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.late import Nearness


class Embedder(Protocol):
    """Texts to unit vectors, without network.

    `name` is the provider ("bundled", "path"); `identity` changes whenever its vectors would, so vectors made
    under another identity must be made again. Safe to use from several threads.
    """

    @property
    def name(self) -> str:
        """The provider's name."""

    @property
    def identity(self) -> str:
        """What made the vectors: provider, model and method."""

    @property
    def dimensions(self) -> int:
        """The length of every vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, (len(texts), dimensions): of length 1, or zeros for a text without known words."""

    def embed_parts(
        self, texts: Sequence[str], parts: Sequence[int]
    ) -> tuple[NDArray[np.float32], list[bytes]]:
        """Rows for each text: of the whole, and where `parts[i]` > 1, of so many slices of equally many tokens.

        And for each text its tokens, as `nearness` takes them: empty where single tokens have no vectors.
        """

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """The same for one text, (dimensions,)."""

    def token_ids(self, text: str) -> list[int]:
        """The ids of a text's tokens, in order, unknown ones left out."""

    def nearness(self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]) -> Nearness:
        """How near the tokens of `texts` come to those of a question's `words`, of which each has its weight.

        Nothing (no rows) where single tokens have no vectors. Raises ValueError for bytes that are no tokens.
        """


class Tokenizer(Protocol):
    """Texts to token ids."""

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, whole, without special tokens and without the unknown ones."""

    def packed(self, text: str) -> bytes:
        """The same as C ints, one after the other."""
