"""The vector file finds each row's best vector, and its checks detect every change.

Mutants that make no difference: how many queries, vectors or groups of vectors are looked at at once or first, and whether
all are looked at rather than few.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.index.vectors import Cosines, VectorFile, quantise

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
        plain = file.plain_cosines(quantise(query).tolist(), len(counts), int(ends[-1]))
        assert plain.of(range(plain.rows)) == pytest.approx(found.tolist())
        both = np.stack([query, every[0]])
        for asked, together in zip(both, file.cosines_of(both, len(counts), int(ends[-1])), strict=True):
            assert (together == every_row(file, asked, len(counts), int(ends[-1]))).all()


def test_the_same_file_can_be_searched_for_fewer_or_more_rows(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(6, 1)
    file.write(0, 0, every, [1, 3, 2])
    assert every_row(file, every[5], 3, 6).argmax() == 2
    assert every_row(file, every[3], 2, 4).argmax() == 1
    assert file.cosines(every[3], 2, 4).rows == 2
    assert every_row(file, every[3], 3, 6).argmax() == 1


def test_a_changed_byte_is_reported_for_its_row(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    checks = list(enumerate(file.write(0, 0, random_units(6, 2), [1, 3, 2])))
    assert file.damaged(checks, 3, 6) == []
    with open(file.path, "r+b") as raw:
        raw.seek(2 * WIDTH)
        byte = raw.read(1)[0]
        raw.seek(2 * WIDTH)
        raw.write(bytes([byte ^ 1]))
    assert file.damaged(checks, 3, 6) == [1]


def test_cleared_vectors_match_nothing_and_others_are_unchanged(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(8, 3)
    checks = list(enumerate(file.write(0, 0, every, [1, 3, 2, 2])))
    before = np.fromfile(file.path, "int8").reshape(-1, WIDTH)
    file.clear([1, 3], 4, 8)
    after = np.fromfile(file.path, "int8").reshape(-1, WIDTH)
    assert (after[[0, 4, 5]] == before[[0, 4, 5]]).all()
    assert not after[[1, 2, 3, 6, 7]].any()
    assert every_row(file, every[2], 4, 8)[[1, 3]].tolist() == [0, 0]
    assert file.damaged(checks, 4, 8) == [1, 3]


def test_missing_vectors_are_filled_in_later(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(8, 4)
    file.write(0, 0, np.zeros((8, WIDTH), "float32"), [1, 3, 2, 2])
    given = every[1:4].copy()
    checks = file.overwrite({1: given, 3: every[6:8]}, 4, 8)
    assert (given == every[1:4]).all()
    assert list(checks) == [1, 3]
    assert file.damaged(list(checks.items()), 4, 8) == []
    stored = np.fromfile(file.path, "int8").reshape(-1, WIDTH)
    assert (stored[[1, 2, 3, 6, 7]] == quantise(every[[1, 2, 3, 6, 7]].copy())).all()
    assert not stored[[0, 4, 5]].any()
    for row, wrong in ((0, every[:2]), (1, every[:2]), (3, every[:3])):
        with pytest.raises(ValueError, match=f"row {row} has a different number of vectors"):
            file.overwrite({row: wrong}, 4, 8)
    assert np.fromfile(file.path, "int8").size == 8 * WIDTH


def test_the_vector_of_a_whole_text_is_its_first(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(6, 5)
    file.write(0, 0, every, [1, 3, 2])
    found = file.wholes([2, 0, 1], 3, 6)
    assert np.abs(found - every[[4, 0, 1]]).max() < 0.003
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 0.02
    assert found.dtype == np.float32
    assert file.wholes([], 3, 6).shape == (0, WIDTH)
    assert list(file.edges(3, 6)) == [0, 1, 4, 6]
    assert list(file.edges(2, 4)) == [0, 1, 4]


def test_without_vectors_nothing_is_near(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    query = random_units(2, 6)
    assert file.cosines(query[0], 0, 0).rows == 0
    for rows, slots in ((0, 0), (0, 3), (3, 0)):
        found = file.cosines(query[0], rows, slots)
        assert (found.rows, found.of(np.arange(rows)).tolist()) == (rows, [0.0] * rows)
        assert [every.tolist() for every in file.cosines_of(query, rows, slots)] == [[0.0] * rows] * 2


@pytest.mark.parametrize(("queries", "rows"), [(1, 1023), (64, 1024), (65, 1025), (130, 2100)])
def test_many_queries_at_once_have_the_results_of_each_alone(tmp_path: Path, queries: int, rows: int) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    counts = [1 + (row % 50 == 0) + (row % 75 == 0) for row in range(rows)]
    slots = sum(counts)
    file.write(0, 0, random_units(slots, rows), counts)
    asked = random_units(queries, 7)
    together = list(file.cosines_of(asked, rows, slots))
    assert len(together) == queries
    for query, found in list(zip(asked, together, strict=True))[:: max(1, queries // 4)]:
        assert (found == every_row(file, query, rows, slots)).all()
    assert (together[-1] == every_row(file, asked[-1], rows, slots)).all()


def test_cosines_of_some_rows_equal_those_among_all(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    file.write(0, 0, random_units(9, 11), [1, 3, 2, 1, 2])
    near = file.cosines(random_units(1, 12)[0], 5, 9)
    every = near.of(np.arange(5))
    for rows in ([3], [4, 1], [2, 0, 4], [1, 1]):
        assert near.of(np.array(rows)).tolist() == every[rows].tolist()
    assert near.of(np.array([], int)).tolist() == []


@given(st.integers(1, 40), st.integers(1, 900), st.integers(1, 4), st.integers(0, 99))
def test_the_nearest_rows_are_among_the_largest_and_few_others_are(
    count: int, rows: int, most: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(1, most + 1, rows)
    every = random.integers(-50, 50, int(counts.sum())).astype(np.float32)
    near = Cosines(every, np.append(0, counts.cumsum()) if most > 1 else None)
    found = near.largest(count).tolist()
    best = near.of(np.arange(near.rows))
    if most > 1:
        assert best.tolist() == np.maximum.reduceat(every, counts.cumsum() - counts).tolist()
    else:
        assert best.tolist() == every.tolist()
    floor = np.sort(best)[-min(count, near.rows)]
    assert found == sorted(set(found))
    assert set(np.flatnonzero(best >= floor).tolist()) <= set(found)


def test_few_rows_are_returned_when_few_are_wanted() -> None:
    every = np.random.default_rng(1).normal(size=64 * 100 + 5).astype(np.float32)
    assert 10 <= len(Cosines(every).largest(10)) <= 40
    edges = np.arange(0, len(every) + 1, 3)  # three vectors a row
    assert 10 <= len(Cosines(every[: edges[-1]], edges).largest(10)) <= 40
    assert Cosines(every).largest(100).tolist() == list(range(len(every)))


def test_a_row_with_the_best_vectors_does_not_hide_the_second_best_row() -> None:
    every = np.arange(64 * 100, dtype=np.float32)
    edges = np.array([0, 1000, 2000, 6000, 6400])  # one row has the 400 best vectors
    near = Cosines(every, edges)
    assert near.largest(1).tolist() == [3]
    assert near.largest(2).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_a_file_that_grew_is_read_again_and_one_that_did_not_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(6, 13)
    file.write(0, 0, every[:2], [1, 1])
    assert every_row(file, every[0], 2, 2).argmax() == 0
    file.write(2, 2, every[2:], [1, 2, 1])
    mapped = Mock(wraps=mmap.mmap)
    monkeypatch.setattr(mmap, "mmap", mapped)
    slots = [0, 1, 2, 3, 5, 6][rows]
    assert every_row(file, every[slots - 1], rows, slots).argmax() == rows - 1
    assert mapped.call_count == (rows > 2)
    list(file.cosines_of(every[:1], rows, slots))
    edges = file._edges
    file.cosines(every[0], rows, slots)
    list(file.cosines_of(every[:1], rows, slots))
    assert mapped.call_count == (rows > 2)
    assert file._edges is edges is not None


@pytest.mark.parametrize("starts", [[1, 2, 3], [0, 2, 2], [0, 3, 2], [0, 1, 6], [0, 1, 7]])
def test_places_out_of_order_are_an_error(tmp_path: Path, starts: list[int]) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(6, 8)
    file.write(0, 0, every, [1, 3, 2])
    Path(file.starts_path).write_bytes(np.array(starts, "<u4").tobytes())
    with pytest.raises(ValueError, match="is not in order"):
        file.cosines(every[0], 3, 6)
    with pytest.raises(ValueError, match="is not in order"):
        file.plain_cosines(quantise(every[0]).tolist(), 3, 6)


def test_files_that_are_too_short_are_an_error(tmp_path: Path) -> None:
    file = VectorFile(str(tmp_path), WIDTH)
    every = random_units(6, 9)
    file.write(0, 0, every, [1, 3, 2])
    for rows, slots in ((4, 6), (3, 7)):
        for ask in (file.cosines, file.plain_cosines, lambda query, *size: file.wholes([0], *size)):
            with pytest.raises(ValueError, match="shorter than the catalog says"):
                ask(every[0], rows, slots)
    assert every_row(file, every[0], 3, 6).argmax() == 0
    assert (file.stored(6) == quantise(every)).all()
    with pytest.raises(ValueError, match="greater than file size"):
        file.stored(7)
    with open(file.path, "r+b") as raw:
        raw.truncate(6 * WIDTH - 1)
    with pytest.raises(ValueError, match="shorter than the catalog says"):
        file.cosines(every[0], 3, 6)


def test_vectors_are_synced_to_disk_before_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros after a power cut would look like any other vectors, of the right size."""
    file = VectorFile(str(tmp_path), WIDTH)
    synced: list[tuple[str, bytes]] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        fsync(handle)
        names = [path for path in (file.path, file.starts_path) if os.path.exists(path)]
        [name] = [path for path in names if os.path.samestat(os.stat(path), os.fstat(handle))]
        synced.append((name, Path(name).read_bytes()))

    monkeypatch.setattr(os, "fsync", noted)
    every = random_units(6, 10)
    file.write(0, 0, every, [1, 3, 2])
    starts = np.array([0, 1, 4], "<u4").tobytes()
    assert sorted(synced) == sorted([(file.path, quantise(every).tobytes()), (file.starts_path, starts)])
    del synced[:]
    file.overwrite({0: every[1:2]}, 3, 6)
    every[0] = every[1]
    assert synced == [(file.path, quantise(every).tobytes())]


def test_quantising_does_not_change_its_input() -> None:
    vectors = np.array([[0.0, 0.5, -0.5, 1.0, -1.0]], "float32")
    assert quantise(vectors).tolist() == [[0, 112, -112, 127, -127]]
    assert vectors[0, 3] == 1
