"""A sentence transformer in ONNX: pooling by the folder's own config, long texts, the cache, broken folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx_kit import DIMENSIONS, open_provider, write_model

if TYPE_CHECKING:
    from pathlib import Path


def test_words_that_mean_the_same_get_the_same_vector(tmp_path: Path) -> None:
    embedder = open_provider(write_model(tmp_path / "m", sentence=False), tmp_path)
    car, automobile, bread = embedder.embed(["car", "Automobile", "bread"])
    assert (embedder.name, embedder.dimensions) == ("onnx", DIMENSIONS)
    assert car @ automobile == pytest.approx(1, abs=1e-3)
    assert car @ bread < 0.9
    assert np.linalg.norm(embedder.embed(["car bread", "river"]), axis=1) == pytest.approx([1, 1], abs=1e-3)


def test_padding_does_not_change_vectors(tmp_path: Path) -> None:
    embedder = open_provider(write_model(tmp_path / "m"), tmp_path)
    together = embedder.embed(["car", "bread queue retry river music winter"])[0]
    assert np.array_equal(
        open_provider(write_model(tmp_path / "n", longest=17), tmp_path).embed(["car"])[0], together
    )
