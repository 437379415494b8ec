"""The files of a model: safetensors, with its header parsed here, and the identities of models.

Format (https://github.com/huggingface/safetensors#format): 8 bytes little-endian header length n, n bytes of JSON
`{name: {"dtype", "shape", "data_offsets": [start, end]}}`, then the data, where offsets count from.
"""

from __future__ import annotations

import json
import os

from engram.adapters.embed.errors import EmbeddingError
from engram.domain.typed import NamedTuple

# safetensors dtype -> numpy dtype; all data is little-endian
_DTYPES = {"I8": "<i1", "I32": "<i4", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
_LENGTH_BYTES = 8
MODEL_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
TABLE = "embeddings"  # model2vec's name of the tensor
_LARGEST_HEADER = 100_000_000  # the format's own limit
REINSTALL = "Install Engram again."
HINT = "Name a folder that model2vec saved (StaticModel.save_pretrained), or use the bundled model."


class Tensor(NamedTuple):
    """The place of a tensor: `dtype` as safetensors names it, `start` and `end` in bytes of the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class TensorFile(NamedTuple):
    """A safetensors file's path, size in bytes, raw header and tensors by name."""

    path: str
    size: int
    header: bytes
    tensors: dict[str, Tensor]


def read_header(path: str) -> TensorFile:
    """Read the header of a safetensors file and check it against the file's size. Raises EmbeddingError."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            header = file.read(length) if length <= min(size, _LARGEST_HEADER) else b""
    except OSError as error:
        raise EmbeddingError(f"The model file {path} cannot be read: {error.strerror}.", HINT) from error
    try:
        tensors = _tensors(header, size)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise EmbeddingError(f"{path} is not a whole safetensors file ({error}).", HINT) from error
    return TensorFile(path, size, header, tensors)


def read_tensor(file: TensorFile, name: str, dtype: str) -> bytes:
    """Read a small tensor. Raises EmbeddingError if the file has none of this name and type, or has shrunk."""
    tensor = file.tensors.get(name)
    try:
        if tensor is None or tensor.dtype != dtype:
            raise ValueError(f"no '{name}' of {dtype}")
        with open(file.path, "rb") as opened:
            opened.seek(tensor.start)
            data = opened.read(tensor.end - tensor.start)
        if len(data) != tensor.end - tensor.start:
            raise ValueError("it has shrunk")
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"The model file {file.path} cannot be read: {error}.", REINSTALL) from error
    return data


def _tensors(header: bytes, size: int) -> dict[str, Tensor]:
    """Parse the tensors of a header. Raises ValueError, TypeError, KeyError or AttributeError."""
    if not header:
        raise ValueError("no header")
    data = _LENGTH_BYTES + len(header)
    found = {}
    for name, entry in json.loads(header).items():
        if name == "__metadata__":
            continue
        start, end = (data + int(offset) for offset in entry["data_offsets"])
        tensor = Tensor(str(entry["dtype"]), tuple(map(int, entry["shape"])), start, end)
        _check(name, tensor, data, size)
        found[name] = tensor
    return found


def _check(name: str, tensor: Tensor, data: int, size: int) -> None:
    """Raise ValueError unless the tensor lies inside the file and its shape fills exactly its bytes."""
    if not data <= tensor.start <= tensor.end <= size:
        raise ValueError(f"'{name}' reaches beyond the end of the file")
    dtype = _DTYPES.get(tensor.dtype)
    if min(tensor.shape, default=0) < 0 or (
        dtype is not None and _count(tensor.shape) * int(dtype[-1]) != tensor.end - tensor.start
    ):
        raise ValueError(f"the shape of '{name}' does not fit its size")


def _count(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a shape."""
    count = 1
    for length in shape:
        count *= length
    return count


def table_dimensions(file: TensorFile, name: str = TABLE) -> int:
    """Return the length of the vectors in a model file. Raises EmbeddingError if it has no table of them by this name."""
    table = file.tensors.get(name)
    if table is None or len(table.shape) != 2 or 0 in table.shape:
        raise EmbeddingError(f"{file.path} has no table of token vectors called '{name}'.", HINT)
    return table.shape[1]


# Identities of models, which change whenever their vectors would.

IDENTITY_FILE = "identity.txt"
VOCABULARY_FILE = "vocabulary.txt"
SCHEME = "mean1"  # how token vectors become one: change it with tokenizing or pooling
_DIGEST_BYTES = 16
_SAMPLES = 64
_SAMPLE_BYTES = 4096


def bundled_identity(folder: str) -> str:
    """Return the stored digest of the bundled model. Raises EmbeddingError if the file is missing."""
    try:
        with open(
            os.path.join(folder, IDENTITY_FILE), encoding="utf-8"
        ) as file:  # its codec is loaded already
            return f"bundled:{file.read().strip()}:{SCHEME}"
    except (OSError, ValueError) as error:
        raise EmbeddingError("The bundled model is incomplete.", REINSTALL) from error


def folder_identity(file: TensorFile, tokenizer: str) -> str:
    """Return a digest of a model's header, size, tokenizer and 64 blocks of its data (about 3 ms, not 30).

    Copies of a folder have the same one. Raises EmbeddingError if a file cannot be read.
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
        with open(tokenizer, "rb") as text:
            digest.update(text.read())
    except OSError as error:
        raise EmbeddingError(f"The model {file.path} cannot be read: {error.strerror}.", HINT) from error
    return f"path:{digest.hexdigest()}:{SCHEME}"


def derived_files(folder: str) -> dict[str, bytes]:
    """Return the files that are derived from the bundled model: its words by id, and its full digest.

    Used to replace the model, and by a test. Raises ValueError if the word list could not be read back.
    """
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
