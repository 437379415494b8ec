"""Vectors of the passages of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from engram.adapters.embed.provider import open_embedder

if TYPE_CHECKING:
    from engram.adapters.embed.protocols import Embedder

WORDS = "the broker redelivers a message after every missed acknowledgement so consumers must be idempotent"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    found = open_embedder("bundled")
    assert found is not None
    return found


def test_a_text_in_one_part_gives_the_vector_it_has_alone(embedder: Embedder) -> None:
    rows = embedder.embed_parts([WORDS, "", "zzzz"], [1, 1, 1])
    assert np.allclose(rows, embedder.embed([WORDS, "", "zzzz"]), atol=1e-6)


def test_a_text_in_parts_gives_the_whole_first_and_then_slices_of_its_tokens(embedder: Embedder) -> None:
    rows = embedder.embed_parts(["one", WORDS, "two"], [1, 3, 1])
    assert rows.shape == (6, embedder.dimensions)
    ids = embedder._model().tokenizer.ids(WORDS)
    slices = [ids[len(ids) * part // 3 : len(ids) * (part + 1) // 3] for part in range(3)]
    vectors = [embedder.embed_one(WORDS)]
    for tokens in slices:
        total = _sum(embedder, tokens)
        vectors.append(total / np.linalg.norm(total))
    assert np.allclose(rows[1:5], vectors, atol=1e-5)
    assert np.allclose(rows[[0, 5]], embedder.embed(["one", "two"]), atol=1e-6)


def test_fewer_tokens_than_parts_leave_empty_parts_without_direction(embedder: Embedder) -> None:
    rows = embedder.embed_parts(["broker message", ""], [4, 4])
    assert rows.shape == (10, embedder.dimensions)
    assert np.allclose(rows[0], embedder.embed_one("broker message"), atol=1e-6)
    assert np.isfinite(rows).all()
    assert not rows[5:].any()


def test_very_long_texts_give_the_same_as_short_ones_would(embedder: Embedder) -> None:
    text = " ".join([WORDS] * 800)
    rows = embedder.embed_parts([text], [2])
    assert np.allclose(rows, [embedder.embed_one(WORDS)] * 3, atol=1e-4)


def test_a_direction_is_exact_for_any_number_of_tokens(embedder: Embedder) -> None:
    for count in (1, 255, 256, 257, 600):  # sums are made in blocks of 256
        ids = embedder._model().tokenizer.ids("0 " * count)
        assert len(ids) == count
        total = _sum(embedder, ids)
        assert np.array_equal(total, _sum(embedder, ids[:1]) * count)
    text = " ".join([WORDS, "zero 0"] * 40)
    assert len(embedder._model().tokenizer.ids(text)) > 512
    assert np.allclose(embedder.embed_parts([text], [1])[0], embedder.embed_one(text), atol=1e-7)


def _sum(embedder: Embedder, tokens: list[int]) -> np.ndarray:
    from engram.adapters.embed.provider import StaticEmbedder

    assert isinstance(embedder, StaticEmbedder)
    total = np.empty(embedder.dimensions, np.float32)
    embedder._model().table.sum(np.array(tokens), total)
    return total
