"""Opening an embedding provider by its name in the configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.identity import MODEL_FILE, bundled_identity, folder_identity
from engram.adapters.embed.static import StaticEmbedder
from engram.adapters.embed.tensorfile import HINT, read_header
from engram.adapters.embed.tokenizing import bundled_tokenizer, folder_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BUNDLED_FOLDER", "Embedder", "EmbeddingError", "open_embedder"]

BUNDLED_FOLDER = os.path.join(os.path.dirname(__file__), "bundled")


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

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Rows for each text: of the whole, and where `parts[i]` > 1, of so many slices of equally many tokens."""

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """The same for one text, (dimensions,)."""

    def token_ids(self, text: str) -> list[int]:
        """The ids of a text's tokens, in order, unknown ones left out."""

    def token_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of tokens as unit rows, (len(ids), dimensions): for comparing texts token by token."""


def open_embedder(provider: str, path: str | None = None) -> Embedder | None:
    """The provider "bundled", "path" (a model2vec folder at `path`) or "none", for which the answer is None.

    Reads only what name, identity and dimensions need; words and vectors are loaded with the first text.
    Raises EmbeddingError for an unknown provider and for a folder that is missing or holds no such model.
    """
    if provider == "none":
        return None
    if provider == "bundled":
        return _open_bundled()
    if provider == "path":
        return _open_folder(_model_folder(path))
    raise EmbeddingError(f"There is no embedding provider '{provider}'.", "Choose bundled, path or none.")


def _open_bundled() -> Embedder:
    """The model that is part of the package. Raises EmbeddingError when the installation is damaged."""
    try:
        file = read_header(os.path.join(BUNDLED_FOLDER, MODEL_FILE))
    except EmbeddingError as error:
        raise EmbeddingError(f"The bundled model is damaged: {error}", "Install Engram again.") from error
    identity = bundled_identity(BUNDLED_FOLDER)
    return StaticEmbedder("bundled", identity, file, lambda: bundled_tokenizer(BUNDLED_FOLDER))


def _open_folder(folder: str) -> Embedder:
    """The model in a folder that exists. Raises EmbeddingError when it is not one."""
    file = read_header(os.path.join(folder, MODEL_FILE))
    identity = folder_identity(file, folder)
    return StaticEmbedder("path", identity, file, lambda: folder_tokenizer(folder))


def _model_folder(path: str | None) -> str:
    """The folder of a "path" provider, which must exist: nothing is ever looked for on a network."""
    if not path:
        raise EmbeddingError("The embedding provider 'path' has no path.", HINT)
    folder = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(folder):
        raise EmbeddingError(f"The model folder {folder} does not exist.", HINT)
    return folder
