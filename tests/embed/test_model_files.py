"""The files of a model: the identity that follows from them, and what is told of broken ones."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import derived_files, read_header
from engram.adapters.embed.provider import BUNDLED_FOLDER
from tests.embed.model_kit import TABLE, TOKENIZER, opened, safetensors, write_model


def test_the_files_derived_from_the_bundled_model_are_up_to_date() -> None:
    for name, content in derived_files(BUNDLED_FOLDER).items():
        assert Path(BUNDLED_FOLDER, name).read_bytes() == content, name


def test_identity_is_the_same_for_a_copy(tmp_path: Path) -> None:
    first = opened(write_model(tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert first.identity == opened(tmp_path / "b").identity
    assert first.name == "path"


def test_identity_changes_with_a_vector_the_shape_and_the_tokenizer(tmp_path: Path) -> None:
    seen = {opened(write_model(tmp_path / "m")).identity}
    seen.add(
        opened(write_model(tmp_path / "m", safetensors({"embeddings": (*TABLE[:2], b"\6" * 6)}))).identity
    )
    seen.add(
        opened(write_model(tmp_path / "m", safetensors({"embeddings": ("I8", [3, 2], TABLE[2])}))).identity
    )
    write_model(tmp_path / "m")
    (tmp_path / "m" / "tokenizer.json").write_text(
        json.dumps({**TOKENIZER, "normalizer": None}), encoding="utf-8"
    )
    seen.add(opened(tmp_path / "m").identity)
    assert len(seen) == 4


@pytest.mark.parametrize("place", [0.0, 0.33, 0.5, 0.999])
def test_identity_of_a_large_model_changes_when_many_vectors_do(tmp_path: Path, place: float) -> None:
    content = bytearray(2_000_000)
    before = opened(write_model(tmp_path, safetensors({"embeddings": ("I8", [20_000, 100], bytes(content))})))
    start = int(place * (len(content) - 40_000))
    content[start : start + 40_000] = b"\1" * 40_000
    after = opened(write_model(tmp_path, safetensors({"embeddings": ("I8", [20_000, 100], bytes(content))})))
    assert before.identity != after.identity


WHOLE = safetensors({"embeddings": TABLE})
BROKEN = {
    "empty": b"",
    "cut in the data": WHOLE[:-1],
    "cut in the header": WHOLE[:40],
    "header longer than the file": (1 << 40).to_bytes(8, "little") + b"{}",
    "header that is no object": (2).to_bytes(8, "little") + b"[]",
    "nested header": (90_000).to_bytes(8, "little") + b"[" * 90_000,
    "a pointer to a file kept elsewhere": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "no embeddings": safetensors({"other": TABLE}),
    "embeddings that are no table": safetensors({"embeddings": ("I8", [6], TABLE[2])}),
    "no rows": safetensors({"embeddings": ("I8", [0, 3], b"")}),
    "a shape that does not fit": safetensors({"embeddings": ("I8", [2, 4], TABLE[2])}),
    "a negative shape": safetensors({"embeddings": ("I8", [-2, -3], TABLE[2])}),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_model_file_is_an_error_when_it_is_opened(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError) as caught:
        opened(write_model(tmp_path, content))
    assert caught.value.hint


MISFITS = {
    "fewer vectors than words": {"embeddings": ("I8", [1, 6], TABLE[2])},
    "an unknown number format": {"embeddings": ("BF16", [2, 3], bytes(12))},
    "a mapping to a row that is not there": {
        "embeddings": TABLE,
        "mapping": ("I32", [2], b"\0\0\0\0\2\0\0\0"),
    },
    "a mapping to a negative row": {
        "embeddings": TABLE,
        "mapping": ("I32", [2], b"\0\0\0\0\xff\xff\xff\xff"),
    },
    "a mapping that is a table": {"embeddings": TABLE, "mapping": ("I8", [2, 2], b"\0\1\0\1")},
    "weights for other tokens": {"embeddings": TABLE, "weights": ("I8", [3], b"\1\1\1")},
    "a mapping for fewer tokens": {"embeddings": TABLE, "mapping": ("I8", [1], b"\1")},
}


@pytest.mark.parametrize("tensors", MISFITS.values(), ids=MISFITS.keys())
def test_tensors_that_do_not_fit_are_an_error_with_the_first_text(
    tensors: dict[str, tuple[str, list[int], bytes]], tmp_path: Path
) -> None:
    embedder = opened(write_model(tmp_path, safetensors(tensors)))
    with pytest.raises(
        EmbeddingError, match=r"number of vectors|bfloat16|names rows|only 1 vectors|'weights' do not fit"
    ) as caught:
        embedder.embed_one("git")
    assert caught.value.hint


def test_a_model_that_shrinks_after_it_was_opened_is_an_error(tmp_path: Path) -> None:
    embedder = opened(write_model(tmp_path))
    os.truncate(tmp_path / "model.safetensors", len(WHOLE) - 2)
    with pytest.raises(EmbeddingError, match="model2vec cannot load the model"):
        embedder.embed_one("git")


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda raw: len(raw).to_bytes(8, "little") + raw))
def test_any_bytes_as_a_model_file_give_a_header_or_an_embedding_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(content)
    with contextlib.suppress(EmbeddingError):
        assert read_header(str(path)).size == len(content)


def test_the_valid_model_that_the_misfits_are_made_from_is_loaded(tmp_path: Path) -> None:
    assert opened(write_model(tmp_path)).embed_one("git").any()
