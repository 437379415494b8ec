"""Charts of characters: columns and bars within their bounds, with all positive values visible."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.text.drawing import bars, columns, named_columns


@given(st.lists(st.integers(0, 10**9), max_size=60), st.integers(1, 6), st.integers(1, 5))
def test_columns_have_the_given_height_and_show_all_positive_values(
    values: list[int], height: int, cells: int
) -> None:
    lines = columns(values, height, cells)
    assert len(lines) == height
    assert all(len(line) <= len(values) * cells for line in lines)
    for at, value in enumerate(values):
        foot = lines[-1].ljust(len(values) * cells)[at * cells]
        assert (foot != " ") == (value > 0)


@given(
    st.lists(st.tuples(st.text("abc xyz", min_size=1, max_size=40), st.integers(0, 10**7)), max_size=8),
    st.integers(48, 120),
)
def test_bars_stay_within_their_width(rows: list[tuple[str, int]], width: int) -> None:
    lines = bars(rows, width)
    assert len(lines) == len(rows)
    assert all(len(line) <= width for line in lines)
    assert all(line.endswith(f"{value:,}") for line, (_, value) in zip(lines, rows, strict=True))


def test_columns_have_their_names_below() -> None:
    assert named_columns(["a", "bb"], [1, 2], 1, 4) == ["▄▄▄ ███", "a   bb"]
