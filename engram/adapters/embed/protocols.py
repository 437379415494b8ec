"""What an embedding provider and its tokenizer can do, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.late_interaction import Nearness


class Embedder(Protocol):
    """Texts to unit vectors.

    `name` is the provider ("bundled", "path", "onnx", "endpoint"); `identity` changes whenever its vectors would, so
    vectors made under another identity must be made again. `costly` says that a vector takes so long that nobody is
    made to wait for those of many lore. Safe to use from several threads.
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

    @property
    def costly(self) -> bool:
        """Whether vectors are made beside everything else and kept."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, (len(texts), dimensions): of length 1, or zeros for a text without known words."""

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Rows for each text: of the whole, and where `parts[i]` > 1, of so many slices of about equal length."""

    def at_hand(
        self, texts: Sequence[str], parts: Sequence[int], most: int
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """The rows of `embed_parts` that nobody has to wait for, for each text whether they are there (else zeros).

        And each text's tokens as `nearness` takes them; none where single tokens have no vectors.
        Of a costly provider: those made before, and the rest where that is at most `most` slices.
        """

    def share(self, other: Embedder) -> None:
        """Ask together with another of the same identity: what one of them was asked, the other need not be."""

    def forget_the_rest(self) -> None:
        """Keep no vectors but those asked for since this was opened: every text of the store was."""

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """The same for one text, (dimensions,)."""

    def likenesses(self, text: str, others: Sequence[str]) -> list[float]:
        """The cosine of a text with each of some others; of few texts at little cost. Raises EmbeddingError."""

    def nearness(
        self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]
    ) -> Nearness | None:
        """How near the tokens of `texts` come to those of a question's `words`, of which each has its weight.

        None where single tokens have no vectors. Raises ValueError for bytes that are no tokens.
        """


class Encoder(Protocol):
    """What turns texts into vectors at a price: a transformer, or somebody else's."""

    def encode(self, texts: Sequence[str], *, patient: bool) -> NDArray[np.float32]:
        """One row a text, of any length but 0; `patient` is who can wait. Raises EmbeddingError."""


class Tokenizer(Protocol):
    """Texts to token ids."""

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, whole, without special tokens and without the unknown ones."""

    def packed(self, text: str) -> bytes:
        """The same as C ints, one after the other."""

    def forget(self) -> None:
        """Give back the memory of the words met so far: many texts are done, and no more are coming."""
