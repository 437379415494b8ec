"""Products of vectors of one-byte numbers without numpy: numkong reads any memory, and does not need it."""

from __future__ import annotations

import struct

from engram.adapters.absent_packages import without_packages
from engram.adapters.numeric import IMPORTING
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_MAGIC = 1.5 * 2**23
_SIGNS = bytes(128) + b"\xff" * 128  # of one-byte numbers: the byte that comes next in a longer one


def products(many: bytes | memoryview, few: bytes | memoryview, width: int) -> list[float]:
    """Multiply each vector of `many` with each of `few`, both `width` numbers long: those of the first come first."""
    one, other = (memoryview(data).cast("b", [len(data) // width, width]) for data in (many, few))
    found = memoryview(_numkong().cdist(one, other, "dot")).cast("B")
    return list(found.cast("d"))


def sum_of_products(one: bytes, other: bytes, width: int) -> float:
    """Multiply the sum of the vectors of `one` with that of `other`, both `width` numbers long."""
    rows = (memoryview(data).cast("b", [len(data) // width, width]) for data in (one, other))
    return float(_numkong().cdist(*rows, "dot").sum())


def unit_rows(rows: bytes, width: int, scale: float) -> bytes:
    """Return the direction of each row, times `scale` (up to 255), in numbers of one byte: at most 127 and at least -127.

    A float32 that has _MAGIC added to it is rounded to a whole number, which is then its lowest byte.
    """
    numkong = _numkong()
    squares = numkong.cdist(
        memoryview(rows).cast("b", [len(rows) // width, width]),
        memoryview(bytes(width)).cast("b", [1, width]),
        "sqeuclidean",
    )
    lengths = [square**0.5 for square in memoryview(squares).cast("B").cast("d")]
    factors = b"".join([struct.pack("<f", scale / length if length else 0.0) * width for length in lengths])
    numbers = numkong.Tensor(memoryview(rows).cast("b")).astype("float32")
    magic = memoryview(struct.pack("<f", _MAGIC) * len(rows)).cast("f")
    found = bytes(memoryview(numkong.fma(numbers, memoryview(factors).cast("f"), magic)).cast("B"))
    low, next_byte = bytearray(found[0::4]), found[1::4]
    signs = low.translate(_SIGNS)
    if signs != next_byte:  # some are beyond one byte
        for at, (sign, of_number) in enumerate(zip(signs, next_byte, strict=True)):
            if sign != of_number:
                low[at] = 0x81 if of_number else 0x7F
    return bytes(low.replace(b"\x80", b"\x81"))


def _numkong() -> ModuleType:
    """Return numkong. Where it finds numpy it imports that, to know its types, which nothing here has."""
    with IMPORTING, without_packages("numpy"):
        import numkong
    found: ModuleType = numkong
    return found
