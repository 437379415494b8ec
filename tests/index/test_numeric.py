"""Products of a matrix, split among threads where there are any."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from engram.adapters import numeric

WIDTH = 32


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
