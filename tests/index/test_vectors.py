"""The vector file finds each row's best vector, and its checks notice every change."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters import numeric
from engram.adapters.index.vectors import VectorFile, quantised

WIDTH = 32


def random_units(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, WIDTH)).astype("float32")
    found: np.ndarray = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    return found


def every_row(file: VectorFile, query: np.ndarray, rows: int, slots: int) -> np.ndarray:
    return file.cosines(query, rows, slots).of(np.arange(rows))


@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=6), min_size=1, max_size=3), st.integers(0, 99)
)
def test_each_row_has_the_cosine_of_its_best_vector(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], seed: int
) -> None:
    file = VectorFile(str(tmp_path_factory.mktemp("vectors")), WIDTH)
    counts: list[int] = []
    query = random_units(1, seed + 1000)[0]
    every = random_units(sum(map(sum, batches)), seed)
    for batch in batches:  # searched after each, as a growing file is
        slot = sum(counts)
        file.write(len(counts), slot, every[slot : slot + sum(batch)], batch)
        counts += batch
        ends = np.cumsum(counts)
        exact = [
            (every[end - count : end] @ query).max() for count, end in zip(counts, ends.tolist(), strict=True)
        ]
        found = every_row(file, query, len(counts), int(ends[-1]))
        assert found.dtype == np.float32
        assert np.abs(found - exact).max() < 0.03
        both = np.stack([query, every[0]])
        for asked, together in zip(both, file.cosines_of(both, len(counts), int(ends[-1])), strict=True):
            assert (together == every_row(file, asked, len(counts), int(ends[-1]))).all()


def test_the_same_file_answers_for_fewer_rows_and_for_more(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(6, 1)
    file.write(0, 0, every, [1, 3, 2])
    assert every_row(file, every[5], 3, 6).argmax() == 2
    assert every_row(file, every[3], 2, 4).argmax() == 1
    assert file.cosines(every[3], 2, 4).rows == 2
    assert every_row(file, every[3], 3, 6).argmax() == 1


def test_a_changed_byte_is_noticed_in_the_row_it_belongs_to(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    checks = list(enumerate(file.write(0, 0, random_units(6, 2), [1, 3, 2])))
    assert file.damaged(checks, 3, 6) == []
    with open(file.path, "r+b") as raw:
        raw.seek(2 * WIDTH)
        byte = raw.read(1)[0]
        raw.seek(2 * WIDTH)
        raw.write(bytes([byte ^ 1]))
    assert file.damaged(checks, 3, 6) == [1]


def test_rounding_keeps_the_vectors_it_is_given() -> None:
    vectors = np.array([[0.0, 0.5, -0.5, 1.0, -1.0]], "float32")
    assert quantised(vectors).tolist() == [[0, 112, -112, 127, -127]]
    assert vectors[0, 3] == 1


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_a_matrix_split_among_threads_gives_the_product_of_each_row(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numeric, "_cores", lambda: cores)
    monkeypatch.setattr(numeric, "_BYTES_PER_THREAD", 1000)
    random = np.random.default_rng(cores)
    matrix, vector = (
        random.integers(-127, 128, (1001, WIDTH), "int8"),
        random.integers(-127, 128, WIDTH, "int8"),
    )
    exact = matrix.astype("int32") @ vector
    assert numeric.dot_products(matrix, vector).tolist() == exact.tolist()


def test_an_error_in_another_thread_is_raised_in_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numeric, "_cores", lambda: 2)
    monkeypatch.setattr(numeric, "_BYTES_PER_THREAD", 1000)
    with pytest.raises(ValueError, match=r".+"):
        numeric.dot_products(np.zeros((1000, WIDTH), "int8"), np.zeros(WIDTH + 1, "int8"))


def test_products_are_computed_if_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(numeric, "_cores", lambda: 3)
    monkeypatch.setattr(numeric, "_BYTES_PER_THREAD", 1000)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    matrix = np.random.default_rng(0).integers(-127, 128, (500, WIDTH), "int8")
    assert numeric.dot_products(matrix, matrix[7]).tolist() == (matrix.astype("int32") @ matrix[7]).tolist()
