"""The cache of vectors: what it keeps and drops, and that damage only costs the cache."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx_kit import open_provider, write_model

if TYPE_CHECKING:
    from pathlib import Path


def test_vectors_of_unused_texts_are_dropped(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    open_provider(folder, tmp_path).embed(["car", "bread"])
    later = open_provider(folder, tmp_path)
    later.embed(["bread"])
    later.drop_unused()
    assert open_provider(folder, tmp_path).embed_available(["car", "bread"], [1, 1], 0)[1] == [False, True]


def test_the_vectors_of_two_earlier_models_are_kept(tmp_path: Path) -> None:
    folders = [write_model(tmp_path / str(number), longest=10 + number) for number in range(4)]
    for folder in folders:
        embedder = open_provider(folder, tmp_path)
        embedder.embed(["car"])
    embedder.drop_unused()
    kept = [open_provider(folder, tmp_path).embed_available(["car"], [1], 0)[1] for folder in folders]
    assert kept == [[False], [True], [True], [True]]


def test_a_damaged_cache_is_replaced(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    before = open_provider(folder, tmp_path).embed(["car"])
    (tmp_path / "vectors.db").write_bytes(b"no database at all" * 100)
    for name in ("vectors.db-wal", "vectors.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert np.array_equal(open_provider(folder, tmp_path).embed(["car"]), before)
    assert sqlite3.connect(tmp_path / "vectors.db").execute("SELECT count(*) FROM vectors").fetchone() == (1,)


def test_an_unusable_state_folder_only_disables_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    embedder = open_provider(write_model(tmp_path / "m"), tmp_path / "file")
    assert embedder.embed(["car"])[0] @ embedder.embed_one("automobile") == pytest.approx(1, abs=1e-3)
