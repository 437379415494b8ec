"""Vectors of texts and questions: each made once, in batches, of long texts by slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from endpoint_kit import Clock, LoopbackEndpoint, embedder, served
from onnx_kit import axis, open_provider, write_model

from engram.adapters.embed.cached_embedder import REST_NS, EncodedEmbedder, _slices
from engram.adapters.embed.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_a_long_text_has_a_vector_of_each_slice_and_of_their_sum(tmp_path: Path) -> None:
    embedder = open_provider(write_model(tmp_path / "m"), tmp_path)
    text = "car " * 8 + "bread " * 6 + "river " * 6
    whole, first, second, third = embedder.embed_parts([text], [3])
    total = first + second + third
    assert whole == pytest.approx(total / np.linalg.norm(total), abs=1e-3)
    assert first @ axis(0) > 0.97
    assert third @ axis(4) > 0.97
    assert "".join(_slices(text, 3)) == text


def test_a_vector_is_never_made_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "m")
    before = open_provider(folder, tmp_path).embed_parts(["car bread", "river", "car bread"], [1, 1, 1])
    again = open_provider(folder, tmp_path)
    assert isinstance(again, EncodedEmbedder)
    monkeypatch.setattr(again._encoder, "encode", None)
    assert np.array_equal(again.embed(["car bread", "river", "car bread"]), before)
    rows, there, _ = again.embed_available(["river", "winter"], [1, 1], 0)
    assert there == [True, False]
    assert not rows[1].any()


@pytest.fixture
def loopback() -> Iterator[LoopbackEndpoint]:
    with served() as endpoint:
        yield endpoint


def test_many_texts_go_in_batches_and_each_only_once(loopback: LoopbackEndpoint, tmp_path: Path) -> None:
    mine = embedder(loopback, tmp_path, Clock())
    texts = [f"car number {number}" for number in range(150)] + ["x" * 30_000, "y" * 7_000, "car number 1"]
    mine.embed(texts)
    sizes = [len(asked.body["input"]) for asked in loopback.asked[1:]]  # the first asked for the length
    assert sizes == [64, 64, 24]
    assert max(map(len, loopback.texts)) == 8000
    before = len(loopback.asked)
    again = embedder(loopback, tmp_path, Clock())
    assert np.array_equal(again.embed(texts), mine.embed(texts))
    assert len(loopback.asked) == before


def test_a_question_gets_one_try_and_a_failed_endpoint_is_not_called_for_a_while(
    loopback: LoopbackEndpoint, tmp_path: Path
) -> None:
    clock = Clock()
    mine = embedder(loopback, tmp_path, clock)
    loopback.down = True
    with pytest.raises(EmbeddingUnavailableError, match="loading"):
        mine.embed_one("car")
    asked = len(loopback.asked)
    with pytest.raises(EmbeddingUnavailableError, match="loading"):
        embedder(loopback, tmp_path, clock).embed_one("car")  # another process
    assert len(loopback.asked) == asked
    loopback.down = False
    with pytest.raises(EmbeddingUnavailableError):
        mine.embed_one("car")
    clock.now += REST_NS + 1
    assert mine.embed_one("car")[0] > 0.9
    assert clock.pauses == []


def test_a_question_asked_twice_is_sent_once(loopback: LoopbackEndpoint, tmp_path: Path) -> None:
    mine = embedder(loopback, tmp_path, Clock())
    before = len(loopback.asked)
    assert np.array_equal(mine.embed_one("what about the car"), mine.embed_one("what about the car"))
    assert len(loopback.asked) == before + 1
    assert not mine.embed_one("  ").any()


def test_stores_that_are_asked_together_send_a_question_once(
    loopback: LoopbackEndpoint, tmp_path: Path
) -> None:
    one, other = (embedder(loopback, tmp_path / name, Clock()) for name in ("a", "b"))
    other.share(one)
    before = len(loopback.asked)
    assert np.array_equal(one.embed_one("car"), other.embed_one("car"))
    assert len(loopback.asked) == before + 1
