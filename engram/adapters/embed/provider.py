"""Open an embedding provider by its configured name."""

from __future__ import annotations

import os
import sys
from functools import cache

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import (
    HINT,
    MODEL_FILE,
    TensorFile,
    bundled_identity,
    read_header,
    table_dimensions,
)
from engram.domain.recall.ranking import BUNDLED
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.endpoint import Endpoint
    from engram.adapters.embed.minilm_question import QuestionReader
    from engram.adapters.embed.model import StaticModel
    from engram.adapters.embed.protocols import Embedder, PlainModel, Tokenizer
    from engram.adapters.embed.pure_python_model import PurePythonModel
    from engram.adapters.embed.table import Nearness
    from engram.domain.recall.ranking import Trust

_BEFORE_NUMPY = 12  # calls without numpy, which together take as long as its import


class StaticEmbedder:
    """An `Embedder` over a table of token vectors, whose vectors have length 1 whatever the model's config.json says."""

    costly = False
    trust: Trust | None = None

    def __init__(self, name: str, identity: str, dimensions: int, load: Callable[[], StaticModel]) -> None:
        """Load nothing yet: `load` is called with the first text and may raise EmbeddingError."""
        self.name = name
        self.identity = identity
        self.dimensions = dimensions
        self._load = load
        self._loaded: StaticModel | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, (len(texts), dimensions): of length 1, or zeros. Raises EmbeddingError."""
        return self._model().embed(texts)

    def embed_parts(self, texts: Sequence[str], parts: Sequence[int]) -> NDArray[np.float32]:
        """Return vectors of texts and their parts, (rows, dimensions): unit rows or zeros. Raises EmbeddingError."""
        return self._model().embed_parts(texts, parts)[0]

    def embed_available(
        self,
        texts: Sequence[str],
        parts: Sequence[int],
        most: int,  # noqa: ARG002 - all are cheap
    ) -> tuple[NDArray[np.float32], list[bool], list[bytes]]:
        """Return the vectors, all of which are available, and the tokens of each text. Raises EmbeddingError."""
        vectors, tokens = self._model().embed_parts(texts, parts)
        return vectors, [True] * len(texts), tokens

    @property
    def immediate(self) -> Embedder:
        """This embedder."""
        return self

    def without_numpy(self) -> PlainModel | None:
        """Return None: the table of any but the bundled model needs numpy."""
        return None

    def substitute_for(self, model: str) -> None:
        """Return None: entries get their vectors at once."""

    def share(self, other: Embedder) -> None:
        """Do nothing: queries are not cached."""

    def drop_unused(self) -> None:
        """Free the cached words; nothing else is cached."""
        if self._loaded is not None:
            self._loaded.tokenizer.forget()

    def embed_one(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one text, (dimensions,), equal to its row in `embed`. Raises EmbeddingError."""
        return self._model().embed_one(text)

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of a text with each of the others. Raises EmbeddingError."""
        own, *rest = self.embed([text, *others])
        return [float(own @ other) for other in rest]

    def nearness(self, words: Sequence[str], weights: Sequence[float], texts: Sequence[bytes]) -> Nearness:
        """Return the nearness of the tokens of texts to those of a query's words. Raises EmbeddingError, ValueError."""
        return self._model().nearness(words, weights, texts)

    def _model(self) -> StaticModel:
        """Load the model on the first call. Two threads may both load it, with the same result."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded


class BundledEmbedder(StaticEmbedder):
    """The embedder of the bundled model, which Engram reads without model2vec.

    With model2vec, a new process takes 0.53 CPU-s until its first vector, this way 0.11 (including Python). A test
    compares the vectors.
    """

    trust = BUNDLED

    def __init__(self, identity: str, file: TensorFile, folder: str) -> None:
        super().__init__("bundled", identity, table_dimensions(file), lambda: _load_bundled(file, folder))
        self._file = file
        self._folder = folder
        self._comparisons = 0
        self._queries = 0

    def without_numpy(self) -> PurePythonModel | None:
        """Return the model for one query without numpy; None after the first dozen queries. Raises EmbeddingError."""
        self._queries += 1
        return self._plain() if self._queries <= _BEFORE_NUMPY else None

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of a text with each of the others. Raises EmbeddingError.

        The first dozen calls do without numpy, since a command makes one or two; later ones use it.
        """
        if "numpy" not in sys.modules and self._comparisons < _BEFORE_NUMPY:
            self._comparisons += 1
            if (plain := self._plain()) is not None:
                return plain.similarities(text, others)
        return super().similarities(text, others)

    def _plain(self) -> PurePythonModel | None:
        from engram.adapters.embed.pure_python_model import PurePythonModel

        try:
            return PurePythonModel(self._file, _bundled_tokenizer(self._folder))
        except (OSError, ValueError):  # `_load_bundled` reports what is wrong with the file
            return None


def _load_bundled(file: TensorFile, folder: str) -> StaticModel:
    from engram.adapters.embed.model import StaticModel
    from engram.adapters.embed.rows import TableRows
    from engram.adapters.embed.table import TokenTable

    return StaticModel(_bundled_tokenizer(folder), TokenTable(TableRows(file)))


__all__ = ["BUNDLED_FOLDER", "EmbeddingError", "open_embedder"]

BUNDLED_FOLDER = os.path.join(os.path.dirname(__file__), "bundled")


def open_embedder(
    provider: str,
    path: str | None = None,
    endpoint: Endpoint | None = None,
    state: str = "",
    now_ns: Callable[[], int] | None = None,
    *,
    symmetric: bool = False,
) -> Embedder | None:
    """Open a provider: bundled, neural, path (a model2vec folder at `path`), onnx (a sentence transformer there), endpoint or none.

    For "none" return None. `state` is the folder of the cache of slow vectors, `now_ns` the clock for the pause after a
    provider failed. With `symmetric`, `neural` reads questions as it reads entries. Only name, identity and dimensions
    are read (if the latter are unknown, one vector is requested); words and vectors are loaded with the first text.

    Raises EmbeddingError for an unknown provider, a folder that is missing or has no such model, and an invalid endpoint.
    """
    if provider == "none":
        return None
    if provider == "bundled":
        return _open_bundled()
    if provider == "neural":
        return _open_neural(state, now_ns, symmetric=symmetric)
    if provider == "path":
        return _open_folder(_model_folder(path, provider))
    if provider == "onnx":
        return _open_onnx(_model_folder(path, provider), state, now_ns)
    if provider == "endpoint" and endpoint is not None:
        return _open_endpoint(endpoint, state, now_ns)
    raise EmbeddingError(
        f"There is no embedding provider '{provider}'.",
        "Choose bundled, neural, path, onnx, endpoint or none.",
    )


def _open_neural(state: str, now_ns: Callable[[], int] | None, *, symmetric: bool) -> Embedder:
    """Open the bundled model and the transformer together. Raises EmbeddingError if the extra is not installed."""
    from engram.adapters.embed.cached_embedder import EncodedEmbedder
    from engram.adapters.embed.minilm import DIMENSIONS, WEIGHTS_SHA256, MiniLmEncoder, find_weights
    from engram.adapters.embed.neural import NeuralEmbedder
    from engram.adapters.embed.vector_cache import FILE_NAME, VectorCache

    bundled = _open_bundled()
    weights = find_weights()

    def make_reader() -> QuestionReader:
        from engram.adapters.embed.minilm_question import QuestionReader

        return QuestionReader(weights, BUNDLED_FOLDER)

    encoder = MiniLmEncoder(weights, BUNDLED_FOLDER, lambda: make_reader().read)
    reader = make_reader() if symmetric else None
    identity = f"minilm:{WEIGHTS_SHA256[:32]}:slices1"
    cache = VectorCache(os.path.join(state, FILE_NAME), identity)
    transformer = EncodedEmbedder("neural", identity, encoder, cache, now_ns, dimensions=DIMENSIONS)
    return NeuralEmbedder(f"neural1:{identity}:{bundled.identity}", bundled, transformer, reader)


def _open_bundled() -> BundledEmbedder:
    """Open the model that is part of the package. Raises EmbeddingError if the installation is damaged."""
    try:
        file = read_header(os.path.join(BUNDLED_FOLDER, MODEL_FILE))
    except EmbeddingError as error:
        raise EmbeddingError(f"The bundled model is damaged: {error}", "Install Engram again.") from error
    return BundledEmbedder(bundled_identity(BUNDLED_FOLDER), file, BUNDLED_FOLDER)


def _open_folder(folder: str) -> Embedder:
    """Open the model2vec model in an existing folder. Raises EmbeddingError if it is not one."""
    from engram.adapters.embed.model2vec_folder import find_model, load_model

    found = find_model(folder)
    return StaticEmbedder("path", found.identity, found.dimensions, lambda: load_model(folder))


def _open_onnx(folder: str, state: str, now_ns: Callable[[], int] | None) -> Embedder:
    """Open the sentence transformer in a folder. Raises EmbeddingError if there is none or onnxruntime is missing."""
    from importlib.util import find_spec

    from engram.adapters.embed.cached_embedder import EncodedEmbedder
    from engram.adapters.embed.onnx_encoder import INSTALL, OnnxEncoder
    from engram.adapters.embed.onnx_folder import TRUSTED, read_folder
    from engram.adapters.embed.vector_cache import FILE_NAME, VectorCache

    if find_spec("onnxruntime") is None:
        raise EmbeddingError("The embedding provider 'onnx' needs onnxruntime.", INSTALL)
    found = read_folder(folder)
    identity = f"onnx:{found.digest}:slices1"
    cache = VectorCache(os.path.join(state, FILE_NAME), identity)
    encoder, trust = OnnxEncoder(found), TRUSTED.get(found.weights)
    if trust is None:
        return EncodedEmbedder("onnx", identity, encoder, cache, now_ns)
    from engram.adapters.embed.neural import MeasuredEmbedder

    return MeasuredEmbedder("onnx", identity, encoder, cache, now_ns, _open_bundled(), trust)


def _open_endpoint(endpoint: Endpoint, state: str, now_ns: Callable[[], int] | None) -> Embedder:
    """Open the endpoint, if it is valid. Raises EmbeddingError."""
    from engram.adapters.embed.cached_embedder import EncodedEmbedder
    from engram.adapters.embed.endpoint import EndpointEncoder, check_endpoint
    from engram.adapters.embed.vector_cache import FILE_NAME, VectorCache

    checked = check_endpoint(endpoint)
    identity = f"{checked.identity}:slices1"
    cache = VectorCache(os.path.join(state, FILE_NAME), identity)
    return EncodedEmbedder("endpoint", identity, EndpointEncoder(checked), cache, now_ns)


@cache  # so that the 30,000 words are read once per process
def _bundled_tokenizer(folder: str) -> Tokenizer:
    from engram.adapters.embed.tokenizing import bundled_tokenizer

    return bundled_tokenizer(folder)


def _model_folder(path: str | None, provider: str) -> str:
    """Return the existing folder of a provider that needs one; nothing is ever downloaded. Raises EmbeddingError."""
    if not path:
        raise EmbeddingError(f"The embedding provider '{provider}' has no path.", HINT)
    folder = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(folder):
        raise EmbeddingError(f"The model folder {folder} does not exist.", HINT)
    return folder
