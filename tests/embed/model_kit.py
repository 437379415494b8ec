"""A small model in a folder, whole or broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from engram.adapters.embed.provider import open_embedder

if TYPE_CHECKING:
    from engram.adapters.embed.protocols import Embedder


TOKENIZER = {
    "added_tokens": [],
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {
        "type": "WordPiece",
        "unk_token": "x",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {"x": 0, "git": 1},
    },
}


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """The bytes of a file of tensors, by type, shape and content."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    encoded = json.dumps({"__metadata__": {"format": "np"}, **header}).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


TABLE = ("I8", [2, 3], bytes([1, 2, 3, 4, 5, 6]))


def write_model(folder: Path, model: bytes = safetensors({"embeddings": TABLE})) -> Path:
    """Write the model, its tokenizer and its configuration; where it is."""
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(model)
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER), encoding="utf-8")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def opened(folder: Path) -> Embedder:
    """The provider `path` with the model in `folder`."""
    embedder = open_embedder("path", str(folder))
    assert embedder is not None
    return embedder
