"""Products of vectors of one-byte numbers without numpy: numkong reads any memory, and does not need it."""

from __future__ import annotations

import sys

from engram.adapters.numeric import IMPORTING
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def products(many: bytes | memoryview, few: bytes | memoryview, width: int) -> list[float]:
    """Multiply each vector of `many` with each of `few`, both `width` numbers long: those of the first come first."""
    one, other = (memoryview(data).cast("b", [len(data) // width, width]) for data in (many, few))
    found = memoryview(_numkong().cdist(one, other, "dot")).cast("B")
    return list(found.cast("d"))


def _numkong() -> ModuleType:
    """Return numkong. Where it finds numpy it imports that, to know its types, which nothing here has."""
    with IMPORTING:
        absent = "numpy" not in sys.modules
        if absent:
            sys.modules["numpy"] = None  # type: ignore[assignment] # Python's own way to say that there is none
        try:
            import numkong
        finally:
            if absent:
                del sys.modules["numpy"]
    found: ModuleType = numkong
    return found
