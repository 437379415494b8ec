"""The cosines of all rows with one query, and the nearest rows, without numpy.

Mutants that make no difference: how many vectors are looked at before there are enough rows.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.index.plain_cosines import PlainCosines, read_products

if TYPE_CHECKING:
    from pathlib import Path


def near(rows: list[list[int]]) -> PlainCosines:
    """Of rows with so many vectors of these products, of which each is half a cosine."""
    edges = memoryview(array("I", accumulate(map(len, rows), initial=0)))
    return PlainCosines([float(value) for row in rows for value in row], edges, 0.5)


@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=4), min_size=1, max_size=60),
    st.integers(1, 70),
)
def test_the_nearest_rows_and_ties_with_the_last_are_found_in_order(
    rows: list[list[int]], count: int
) -> None:
    cosines, best = near(rows), [max(row) / 2 for row in rows]
    assert cosines.rows == len(rows)
    assert cosines.of(range(len(rows))) == best
    assert cosines.of([len(rows) - 1, 0]) == [best[-1], best[0]]
    found = cosines.largest(count)
    assert found == sorted(set(found))
    least = sorted(best)[-min(count, len(rows))]
    assert {row for row, value in enumerate(best) if value >= least} <= {*found}


def test_few_others_are_found_even_if_the_nearest_vectors_belong_to_one_row() -> None:
    rows = [[number] for number in range(1000)]
    assert {*range(990, 1000)} <= {*near(rows).largest(10)} <= {*range(960, 1000)}
    rows[0] = [1000] * 25
    assert {0, *range(991, 1000)} <= {*near(rows).largest(10)} <= {0, *range(920, 1000)}


def test_the_first_vectors_of_a_file_are_multiplied_with_a_query(tmp_path: Path) -> None:
    file = tmp_path / "vectors.i8"
    file.write_bytes(bytes([1, 2, 0xFF, 3, 127, 0x81, 9, 9]))
    every = [-80.0, -370.0, 24130.0, 90.0]
    for slots in (1, 2, 3, 4):
        assert read_products(str(file), [100, -90], slots) == every[:slots]
    with pytest.raises(ValueError, match="mmap length is greater than file size"):
        read_products(str(file), [100, -90], 5)
