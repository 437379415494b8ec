"""Opens an embedding provider by its configured name."""

from __future__ import annotations

import os
from functools import cache

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import HINT, MODEL_FILE, bundled_identity, folder_identity, read_header
from engram.adapters.embed.static import StaticEmbedder
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.adapters.embed.endpoint import Endpoint
    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.embed.tokenizing import SizedTokenizer

__all__ = ["BUNDLED_FOLDER", "EmbeddingError", "open_embedder"]

BUNDLED_FOLDER = os.path.join(os.path.dirname(__file__), "bundled")


def open_embedder(
    provider: str,
    path: str | None = None,
    endpoint: Endpoint | None = None,
    state: str = "",
    now_ns: Callable[[], int] | None = None,
) -> Embedder | None:
    """Open a provider: bundled, path (a model2vec folder at `path`), onnx (a sentence transformer there), endpoint, or none.

    For "none" return None. `state` is the folder that caches slow vectors, `now_ns` the clock by which a failed
    provider is left alone for a while. Reads only what name, identity and dimensions need (if these are unknown,
    one vector is requested); words and vectors are loaded with the first text.

    Raises EmbeddingError for an unknown provider, for a folder that is missing or has no such model, and for an
    invalid endpoint.
    """
    if provider == "none":
        return None
    if provider == "bundled":
        return _open_bundled()
    if provider == "path":
        return _open_folder(_model_folder(path, provider))
    if provider == "onnx":
        return _open_onnx(_model_folder(path, provider), state, now_ns)
    if provider == "endpoint" and endpoint is not None:
        return _open_endpoint(endpoint, state, now_ns)
    raise EmbeddingError(
        f"There is no embedding provider '{provider}'.", "Choose bundled, path, onnx, endpoint or none."
    )


def _open_bundled() -> Embedder:
    """Open the model that is part of the package. Raises EmbeddingError if the installation is damaged."""
    try:
        file = read_header(os.path.join(BUNDLED_FOLDER, MODEL_FILE))
    except EmbeddingError as error:
        raise EmbeddingError(f"The bundled model is damaged: {error}", "Install Engram again.") from error
    identity = bundled_identity(BUNDLED_FOLDER)
    folder = BUNDLED_FOLDER
    return StaticEmbedder("bundled", identity, file, lambda: _bundled_tokenizer(folder))


def _open_folder(folder: str) -> Embedder:
    """Open the model in an existing folder. Raises EmbeddingError if it is not one."""
    file = read_header(os.path.join(folder, MODEL_FILE))
    identity = folder_identity(file, folder)
    return StaticEmbedder("path", identity, file, lambda: _open_folder_tokenizer(folder))


def _open_onnx(folder: str, state: str, now_ns: Callable[[], int] | None) -> Embedder:
    """Open the sentence transformer in a folder. Raises EmbeddingError if it is none, or onnxruntime is missing."""
    from importlib.util import find_spec

    from engram.adapters.embed.encoded import EncodedEmbedder
    from engram.adapters.embed.onnx_encoder import INSTALL, OnnxEncoder
    from engram.adapters.embed.onnx_folder import read_folder
    from engram.adapters.embed.vector_cache import FILE_NAME, VectorCache

    if find_spec("onnxruntime") is None:
        raise EmbeddingError("The embedding provider 'onnx' needs onnxruntime.", INSTALL)
    found = read_folder(folder)
    identity = f"onnx:{found.digest}:slices1"
    cache = VectorCache(os.path.join(state, FILE_NAME), identity)
    return EncodedEmbedder("onnx", identity, OnnxEncoder(found), cache, now_ns)


def _open_endpoint(endpoint: Endpoint, state: str, now_ns: Callable[[], int] | None) -> Embedder:
    """Open the endpoint, if it is valid. Raises EmbeddingError."""
    from engram.adapters.embed.encoded import EncodedEmbedder
    from engram.adapters.embed.endpoint import EndpointEncoder, check_endpoint
    from engram.adapters.embed.vector_cache import FILE_NAME, VectorCache

    checked = check_endpoint(endpoint)
    identity = f"{checked.identity}:slices1"
    cache = VectorCache(os.path.join(state, FILE_NAME), identity)
    return EncodedEmbedder("endpoint", identity, EndpointEncoder(checked), cache, now_ns)


@cache  # 30,000 words are read once, not with every store
def _bundled_tokenizer(folder: str) -> SizedTokenizer:
    from engram.adapters.embed.tokenizing import bundled_tokenizer

    return bundled_tokenizer(folder)


def _open_folder_tokenizer(folder: str) -> SizedTokenizer:
    from engram.adapters.embed.tokenizing import folder_tokenizer

    return folder_tokenizer(folder)


def _model_folder(path: str | None, provider: str) -> str:
    """Return the folder of a provider that needs one, which must exist: nothing is ever downloaded."""
    if not path:
        raise EmbeddingError(f"The embedding provider '{provider}' has no path.", HINT)
    folder = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(folder):
        raise EmbeddingError(f"The model folder {folder} does not exist.", HINT)
    return folder
