"""Products of small numbers are exact, and larger ones are cut off."""

from __future__ import annotations

import numpy as np

from engram.adapters.int8_products import products, unit_rows


def test_numbers_beyond_one_byte_are_cut_off() -> None:
    rows = bytes((127, 0, 0, 1)) + bytes(4) + bytes((0x80, 0, 3, 0)) + bytes((1, 2, 3, 0xFC))
    assert list(memoryview(unit_rows(rows, 4, 224.0)).cast("b")) == [
        127, 0, 0, 2, 0, 0, 0, 0, -127, 0, 5, 0, 41, 82, 123, -127,
    ]  # fmt: skip


def test_products_are_exact() -> None:
    numbers = np.random.default_rng(3).integers(-127, 128, (50, 64)).astype(np.int8)
    few = numbers[:3]
    wanted = (numbers.astype(int) @ few.astype(int).T).reshape(-1).tolist()
    assert products(numbers.tobytes(), few.tobytes(), 64) == wanted
