"""Rows of token vectors that are made when they are first asked for."""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engram.adapters.embed import rows
from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import MODEL_FILE, TABLE, read_header
from engram.adapters.embed.provider import BUNDLED_FOLDER
from engram.adapters.embed.rows import RowCache, TableRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUNDLED = Path(BUNDLED_FOLDER, MODEL_FILE)


def _every_row() -> NDArray[np.int8]:
    tensor = read_header(str(BUNDLED)).tensors[TABLE]
    return np.frombuffer(BUNDLED.read_bytes()[tensor.start : tensor.end], "int8").reshape(tensor.shape)


def test_each_row_is_made_once_however_many_threads_ask_for_it() -> None:
    made: list[int] = []

    def make(ids: NDArray[np.integer]) -> NDArray[np.int8]:
        made.extend(ids.tolist())
        return np.repeat(ids[:, None] % 100, 3, axis=1)

    cache = RowCache(5000, 3, make)
    asked = [np.random.default_rng(seed).integers(0, 5000, 200) for seed in range(100)]
    with ThreadPoolExecutor(8) as pool:
        for ids, found in zip(asked, pool.map(cache.take, asked), strict=True):
            assert (found == (ids % 100)[:, None]).all()
    assert sorted(made) == np.unique(np.concatenate(asked)).tolist()
    assert cache.count == len(made)


def test_rows_are_those_of_the_file_whether_read_or_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_MOST_READ", 300)
    every, table = _every_row(), TableRows(read_header(str(BUNDLED)))
    assert (len(table), table.shape) == (len(every), every.shape)
    for seed in range(6):
        ids = np.random.default_rng(seed).integers(0, len(every), 100)
        assert (table.take(ids) == every[ids]).all()
    assert not isinstance(table._rows, RowCache)
    assert table.take(np.array([], "intp")).shape == (0, every.shape[1])


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
def test_a_file_that_another_takes_the_place_of_is_read_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(BUNDLED, tmp_path))
    table = TableRows(read_header(str(path)))
    beside = tmp_path / "new"
    beside.write_bytes(bytes(path.stat().st_size))
    beside.replace(path)
    ids = np.array([7, 40_000])
    assert (table.take(ids) == _every_row()[ids]).all()


def test_a_file_that_has_shrunk_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    path = Path(shutil.copy(BUNDLED, tmp_path))
    table = TableRows(read_header(str(path)))
    with path.open("r+b") as file:
        file.truncate(100_000)
    with pytest.raises(EmbeddingError, match="has shrunk") as caught:
        table.take(np.array([40_000]))
    assert caught.value.hint
