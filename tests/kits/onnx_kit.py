"""A small real ONNX model, written by hand: a table of word vectors in which synonyms are near each other."""

from __future__ import annotations

import json
import struct
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engram.adapters.embed import minilm
from engram.adapters.embed.provider import open_embedder

if TYPE_CHECKING:
    from pathlib import Path

    from engram.adapters.embed.protocols import Embedder

MEANINGS = (
    ("car", "automobile", "vehicle"),
    ("bread", "loaf", "dough"),
    ("queue", "backlog"),
    ("retry", "again"),
    ("river",),
    ("music", "melody"),
    ("winter",),
    ("paint",),
)
DIMENSIONS = len(MEANINGS)
WORDS = ("[PAD]", "[UNK]", "[CLS]", *(word for meaning in MEANINGS for word in meaning))
_FLOAT, _INT64 = 1, 7


def write_model(folder: Path, *, pooling: str = "mean", sentence: bool = False, longest: int = 16) -> Path:
    """Write a folder as exported by sentence-transformers; `sentence`: the model itself returns one vector per text."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "onnx" / "model.onnx").write_bytes(model(sentence=sentence))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": longest}))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    names = {
        "mean": "mean_tokens",
        "cls": "cls_token",
        "max": "max_tokens",
        "weighted": "weightedmean_tokens",
    }
    modes = {f"pooling_mode_{name}": key == pooling for key, name in names.items()}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    return folder


def table() -> list[list[float]]:
    """Return the vector of each word, with one axis per meaning; [CLS] has some of each, so that pooling by it shows."""
    rows = [[0.0] * DIMENSIONS, [0.0] * DIMENSIONS, [0.5] * DIMENSIONS]
    for axis, meaning in enumerate(MEANINGS):
        rows += [[1.0 if number == axis else 0.0 for number in range(DIMENSIONS)] for _ in meaning]
    return rows


def model(*, sentence: bool) -> bytes:
    """Return the bytes of a ModelProto: Gather from the table and, if `sentence`, ReduceMean over the tokens."""
    flat = [number for row in table() for number in row]
    vectors = (
        _number(1, len(WORDS))
        + _number(1, DIMENSIONS)
        + _number(2, _FLOAT)
        + _text(8, "table")
        + _bytes(9, struct.pack(f"<{len(flat)}f", *flat))
    )
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather")
    nodes = _bytes(1, node)
    outputs = _bytes(12, _value("last_hidden_state", _FLOAT, ["batch", "tokens", DIMENSIONS]))
    if sentence:
        axes = _text(1, "axes") + _number(8, 1) + _number(20, 7)
        keep = _text(1, "keepdims") + _number(3, 0) + _number(20, 2)
        mean = _text(1, "last_hidden_state") + _text(2, "sentence_embedding") + _text(4, "ReduceMean")
        nodes += _bytes(1, mean + _bytes(5, axes) + _bytes(5, keep))
        outputs += _bytes(12, _value("sentence_embedding", _FLOAT, ["batch", DIMENSIONS]))
    inputs = b"".join(
        _bytes(11, _value(name, _INT64, ["batch", "tokens"])) for name in ("input_ids", "attention_mask")
    )
    graph = nodes + _text(2, "words") + _bytes(5, vectors) + inputs + outputs
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))


def _tokenizer() -> dict[str, object]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}},
        },
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    dims = b"".join(
        _bytes(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def _varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def open_provider(folder: Path, state: Path) -> Embedder:
    """Open the provider `onnx` with the model in `folder`."""
    embedder = open_embedder("onnx", str(folder), state=str(state))
    assert embedder is not None
    return embedder


def axis(*places: int) -> np.ndarray:
    """Return the unit vector of these meanings together."""
    found = np.zeros(DIMENSIONS, "float32")
    found[list(places)] = 1
    return found / np.linalg.norm(found)


installed = pytest.mark.skipif(
    find_spec(minilm.MODULE) is None or find_spec("onnxruntime") is None, reason="needs the extra `neural`"
)
