"""Numpy, imported when first needed and kept to one thread."""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType


@cache
def numpy() -> ModuleType:
    """The numpy module. To be called instead of importing it, so that the limit is set before that.

    OpenBLAS starts a thread pool while it is imported: without the limit the import costs twice the CPU time,
    and under load small products wait for threads that have no core to run on.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy as np

    return np
