"""The sentence transformer of the extra `neural` for one question, with numpy alone: the same vectors as onnxruntime's.

onnxruntime takes 0.29 CPU-s to start, and 200 MB; this takes 0.03 for its first question, and uses the weights in the
mapped file. Entries are read in batches, for which onnxruntime is faster.

The model is BERT: https://arxiv.org/abs/1810.04805, with six layers, twelve heads, and the mean of the tokens for a text.
"""

from __future__ import annotations

import mmap

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.minilm import (
    DIMENSIONS,
    INSTALL,
    LONGEST,
    PACKAGE,
    SEPARATOR,
    START,
    read_tokenizer,
    transformer_vocabulary,
)  # fmt: skip
from engram.adapters.embed.onnx_tensors import read_tensors
from engram.adapters.embed.tokenizing import LibraryTokenizer, WordPieceTokenizer
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.protocols import Tokenizer

    Floats = NDArray[np.float32]

_BYTES = 22_928_619
_HEAD = 160_000  # bytes: the graph and the float weights; the encoder of entries checks the whole file
_HEAD_SHA256 = "d4a5996e325d1a2713f9f5013d653144170677eaba89c7f89d4ee5aeaf41a1cf"
_HEADS = 12
_EPSILON = 1e-12
_PRODUCTS = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "intermediate.dense", "output.dense",
)  # fmt: skip
_MAX_CACHED = 64  # questions


class Linear(NamedTuple):
    """A linear layer with int8 weights, a scale for each column, and a bias."""

    weights: NDArray[np.int8]
    scale: Floats
    bias: Floats

    def of(self, rows: Floats) -> Floats:
        """Return the product of rows with the weights, plus the bias."""
        found: Floats = (rows @ self.weights.astype("float32")) * self.scale + self.bias
        return found


class Norm(NamedTuple):
    """A layer normalisation."""

    weight: Floats
    bias: Floats

    def of(self, rows: Floats) -> Floats:
        """Return the normalised rows."""
        centred = rows - rows.mean(axis=1, keepdims=True)
        variance = (centred * centred).mean(axis=1, keepdims=True)
        found: Floats = centred / numpy_module().sqrt(variance + _EPSILON) * self.weight + self.bias
        return found


class Layer(NamedTuple):
    """One layer: attention, then a feed-forward network with a GELU."""

    query: Linear
    key: Linear
    value: Linear
    attended: Linear
    attended_norm: Norm
    wider: Linear
    narrower: Linear
    norm: Norm

    def of(self, rows: Floats) -> Floats:
        """Apply the layer to the token vectors of one text."""
        rows = self.attended_norm.of(rows + self.attended.of(self._attention(rows)))
        return self.norm.of(rows + self.narrower.of(_gelu(self.wider.of(rows))))

    def _attention(self, rows: Floats) -> Floats:
        np = numpy_module()
        query, key, value = (
            linear.of(rows).reshape(len(rows), _HEADS, -1).swapaxes(0, 1)
            for linear in (self.query, self.key, self.value)
        )
        scores = query @ key.swapaxes(1, 2) * query.shape[2] ** -0.5
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        found: Floats = (shares @ value).swapaxes(0, 1).reshape(rows.shape)
        return found


class Transformer:
    """The weights in a file, as layers."""

    def __init__(self, tensors: dict[str, NDArray[np.floating | np.int8]]) -> None:
        """Assign the weights to layers. Raises KeyError, IndexError for another model."""
        products = [
            name.removesuffix("_q") for name in tensors if name.endswith("_q") and name.startswith("val_")
        ]
        self._tensors = tensors
        self._norm = self._norm_of("embeddings.LayerNorm")
        self._layers = [
            self._layer(f"encoder.layer.{number}.", products[len(_PRODUCTS) * number :][: len(_PRODUCTS)])
            for number in range(len(products) // len(_PRODUCTS))
        ]

    def of(self, ids: list[int]) -> Floats:
        """Return the vector of a text by its token ids: the mean of the last layer's token vectors."""
        rows = self._rows("word", ids) + self._rows("position", list(range(len(ids))))
        rows = self._norm.of(rows + self._tensors["inner.embeddings.token_type_embeddings.weight"][0])
        for layer in self._layers:
            rows = layer.of(rows)
        found: Floats = rows.mean(axis=0)
        return found

    def _rows(self, table: str, numbers: list[int]) -> Floats:
        weights, scale = (
            self._tensors[f"inner.embeddings.{table}_embeddings.weight_{part}"] for part in ("q", "scale")
        )
        found: Floats = weights[numbers].astype("float32") * scale[numbers]
        return found

    def _layer(self, name: str, products: list[str]) -> Layer:
        weights: dict[str, Any] = self._tensors
        linear = [
            Linear(weights[f"{product}_q"], weights[f"{product}_scale"], weights[f"inner.{name}{bias}.bias"])
            for product, bias in zip(products, _PRODUCTS, strict=True)
        ]
        query, key, value, attended, wider, narrower = linear
        attended_norm, norm = (
            self._norm_of(f"{name}{one}.LayerNorm") for one in ("attention.output", "output")
        )
        return Layer(query, key, value, attended, attended_norm, wider, narrower, norm)

    def _norm_of(self, name: str) -> Norm:
        return Norm(*(self._tensors[f"inner.{name}.{part}"] for part in ("weight", "bias")))  # type: ignore[arg-type]


def question_tokenizer(bundled_folder: str) -> Tokenizer:
    """Return the transformer's tokenizer, which loads the library only for text beyond ASCII and typography."""
    library = LibraryTokenizer(lambda: read_tokenizer(bundled_folder), None)
    return WordPieceTokenizer(transformer_vocabulary(bundled_folder), library)


class QuestionReader:
    """Reads questions; caches the last ones."""

    def __init__(self, weights: str, bundled_folder: str) -> None:
        """Load nothing until the first question."""
        self._weights = weights
        self._bundled_folder = bundled_folder
        self._tokenizer: Tokenizer | None = None
        self._transformer: Transformer | None = None
        self._cache: dict[str, Floats] = {}

    def read(self, text: str) -> Floats:
        """Return the vector of a question, (DIMENSIONS,): of length 1, or zeros for a blank one. Raises EmbeddingError."""
        found = self._cache.get(text)
        if found is None:
            found = self._read(text)
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[text] = found
        return found

    def _read(self, text: str) -> Floats:
        np = numpy_module()
        if not text.strip():
            return np.zeros(DIMENSIONS, "float32")  # type: ignore[no-any-return]
        self._transformer = self._transformer or self._load()
        self._tokenizer = self._tokenizer or question_tokenizer(self._bundled_folder)
        ids = [START, *self._tokenizer.ids(text)[: LONGEST - 2], SEPARATOR]
        found: Floats = self._transformer.of(ids)
        found /= np.linalg.norm(found)
        return found

    def _load(self) -> Transformer:
        """Map the weights. Two threads may both do it, with the same result."""
        from hashlib import sha256

        try:
            with open(self._weights, "rb") as file:
                data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise EmbeddingError(f"The weights {self._weights} cannot be read: {error}.", INSTALL) from error
        if len(data) != _BYTES or sha256(data[:_HEAD]).hexdigest() != _HEAD_SHA256:
            raise EmbeddingError(f"The weights {self._weights} are not those of {PACKAGE}.", INSTALL)
        return Transformer(read_tensors(data))


def _gelu(rows: Floats) -> Floats:
    """Return x · Φ(x), with the approximation 7.1.26 of Abramowitz and Stegun for the error function (within 1.5e-7)."""
    np = numpy_module()
    size = np.abs(rows) * 0.5**0.5
    step = 1 / (1 + 0.3275911 * size)
    series = np.zeros_like(rows)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + factor) * step
    found: Floats = rows * 0.5 * (1 + np.sign(rows) * (1 - series * np.exp(-size * size)))
    return found
