"""Rows of token vectors that are made when they are first asked for."""

from __future__ import annotations

import gc
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
from engram.adapters.embed.provider import BUNDLED_FOLDER, open_embedder
from engram.adapters.embed.rows import RowCache, TableRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

BUNDLED = Path(BUNDLED_FOLDER, MODEL_FILE)


@pytest.fixture
def collecting_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def open_files(path: Path) -> int:
    """How often this process has opened a file that it has not closed."""
    links = Path("/proc/self/fd").iterdir()
    return sum(link.exists() and link.samefile(path) for link in links)


def _every_row() -> NDArray[np.int8]:
    tensor = read_header(str(BUNDLED)).tensors[TABLE]
    return np.frombuffer(BUNDLED.read_bytes()[tensor.start : tensor.end], "int8").reshape(tensor.shape)


def test_each_row_is_made_once_however_many_threads_ask_for_it() -> None:
    made: list[int] = []

    def make(ids: NDArray[np.integer]) -> NDArray[np.int8]:
        made.extend(ids.tolist())
        return np.repeat(ids[:, None] % 100, 3, axis=1)

    cache = RowCache(5000, 3)
    asked = [np.random.default_rng(seed).integers(0, 5000, 200) for seed in range(100)]
    with ThreadPoolExecutor(8) as pool:
        for ids, found in zip(asked, pool.map(lambda ids: cache.take(ids, make), asked), strict=True):
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
def test_a_file_that_is_replaced_can_still_be_read(tmp_path: Path) -> None:
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


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system which files are open")
def test_an_unused_model_closes_its_file_without_a_garbage_collection(collecting_off: None) -> None:
    before = open_files(BUNDLED)
    embedder = open_embedder("bundled")
    assert embedder is not None
    text = embedder.embed_parts(["broker"], [1])
    assert text.shape[0] == 1
    embedder.nearness(["queue"], [1.0], [embedder.embed_available(["broker"], [1], 1)[2][0]])
    assert open_files(BUNDLED) == before + 1
    del embedder
    assert open_files(BUNDLED) == before
