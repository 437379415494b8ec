"""Identities of models, which change whenever their vectors would."""

from __future__ import annotations

import os

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.tensorfile import HINT
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.embed.tensorfile import TensorFile

IDENTITY_FILE = "identity.txt"
MODEL_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "vocabulary.txt"
SCHEME = "mean1"  # how token vectors become one: change it with tokenizing or pooling
_DIGEST_BYTES = 16
_SAMPLES = 64
_SAMPLE_BYTES = 4096


def bundled_identity(folder: str) -> str:
    """Return the stored digest of the bundled model. Raises EmbeddingError if the file is missing."""
    try:
        with open(os.path.join(folder, IDENTITY_FILE), encoding="utf-8") as file:  # one codec less to import
            return f"bundled:{file.read().strip()}:{SCHEME}"
    except (OSError, ValueError) as error:
        raise EmbeddingError("The bundled model is incomplete.", "Install Engram again.") from error


def folder_identity(file: TensorFile, folder: str) -> str:
    """Return a digest of a model's header, size, 64 blocks spread over its data, and tokenizer (about 3 ms, not 30).

    It is the same for copies of a folder. Raises EmbeddingError if a file cannot be read.
    """
    from hashlib import blake2b

    digest = blake2b(file.header, digest_size=_DIGEST_BYTES)
    digest.update(file.size.to_bytes(8, "little"))
    step = max(_SAMPLE_BYTES, (file.size - _SAMPLE_BYTES) // (_SAMPLES - 1))
    try:
        with open(file.path, "rb", buffering=0) as model:
            for number in range(_SAMPLES):
                model.seek(number * step)
                digest.update(model.read(_SAMPLE_BYTES))
        with open(os.path.join(folder, TOKENIZER_FILE), "rb") as tokenizer:
            digest.update(tokenizer.read())
    except OSError as error:
        raise EmbeddingError(f"The model in {folder} cannot be read: {error.strerror}.", HINT) from error
    return f"path:{digest.hexdigest()}:{SCHEME}"


def derived_files(folder: str) -> dict[str, bytes]:
    """Return the files beside the bundled model that are derived from it: its words by id, and its full digest.

    For replacing the model, and for a test. Raises ValueError if the word list could not be read back.
    """
    import json
    from hashlib import blake2b

    with open(os.path.join(folder, TOKENIZER_FILE), encoding="utf-8") as file:
        ids: dict[str, int] = json.load(file)["model"]["vocab"]
    words = sorted(ids, key=ids.__getitem__)
    gaps = [ids[word] for word in words] != list(range(len(words)))
    if gaps or any("\n" in word or "\r" in word for word in words):
        raise ValueError("token ids must count from 0 without a gap, and no word may hold a line end")
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for name in (MODEL_FILE, TOKENIZER_FILE):
        with open(os.path.join(folder, name), "rb") as part:
            digest.update(part.read())
    return {VOCABULARY_FILE: "\n".join(words).encode(), IDENTITY_FILE: f"{digest.hexdigest()}\n".encode()}
