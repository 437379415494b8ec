"""Numpy and numkong, imported when first needed and kept to one thread."""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@cache
def numpy() -> ModuleType:
    """The numpy module. To be called instead of importing it, so that the limit is set before that.

    OpenBLAS starts a thread pool while it is imported: without the limit the import costs twice the CPU time,
    and under load small products wait for threads that have no core to run on.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy as np

    return np


def dot_products(every: NDArray[np.int8], few: NDArray[np.int8]) -> NDArray[np.int32]:
    """The inner product of each of `every` (n, d) with each of `few` (m, d): (n, m).

    numpy has no fast product of bytes: by its float32 this takes three times as long.
    """
    import numkong

    found: NDArray[np.int32] = numpy().asarray(numkong.dots_packed(every, numkong.dots_pack(few)))
    return found
