"""numpy and numkong, imported on first use; numpy with a single thread.

Starting OpenBLAS's thread pool costs 50 ms of CPU time at import, and under load more threads were four times slower.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from itertools import pairwise

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    import numpy


IMPORTING = threading.Lock()  # held by whoever imports numpy, or keeps it from being imported
_BYTES_PER_THREAD = 8_000_000  # reading fewer takes hardly longer than starting a thread
_MAX_THREADS = 4


@cache
def numpy_module() -> ModuleType:
    """Return numpy. Call this instead of importing it: the thread limit has to be set before the import."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with IMPORTING:
        import numpy

    return numpy


def dot_products(matrix: numpy.ndarray, vector: numpy.ndarray) -> numpy.ndarray:
    """Multiply each row of `matrix` (int8, n x d, n > 0) with `vector` (int8, d): float32, n.

    numkong is the kernel library of usearch. Calling it directly is more than twice as fast as
    `usearch.index.search(exact=True)` on 100,000 rows, and its import is 60 ms cheaper. Its "angular" metric is no
    alternative: for a zero vector it gives NaN on some processors and 1 on others. Nor is its packed product: with the
    matrix in the cache it takes half the time, but between the other work of a query nearly twice as much. The same
    holds for int32 results (100,000 entries: 9.5 ms per query, 6.6 ms with the default float64).

    One core cannot use the whole memory bandwidth, so a matrix too large for the cache is split among threads:
    100,000 entries take 5.3 to 6.2 ms with two threads and 8.3 to 9.1 ms with one, for the same CPU time.
    """
    np = numpy_module()
    import numkong

    found: numpy.ndarray = np.empty(len(matrix), np.float32)
    column = vector[None, :]
    errors = list[Exception]()

    def compute(start: int, end: int) -> None:
        try:
            found[start:end] = np.asarray(numkong.cdist(column, matrix[start:end], "dot"))[0]
        except Exception as error:  # noqa: BLE001 - raised below, in the calling thread
            errors.append(error)

    parts = max(1, min(matrix.nbytes // _BYTES_PER_THREAD, _MAX_THREADS, _cores()))
    edges = [len(matrix) * part // parts for part in range(parts + 1)]
    threads = []
    for edge in pairwise(edges[1:]):
        # No persistent pool: a forked process would not have its threads.
        thread = threading.Thread(target=compute, args=edge)
        try:
            thread.start()
            threads.append(thread)
        except RuntimeError:  # the system allows no more threads
            compute(*edge)
    compute(*edges[:2])
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


def dot_product_matrix(many: numpy.ndarray, few: numpy.ndarray) -> numpy.ndarray:
    """Multiply each row of `many` (int8, n x d) with each row of `few` (int8, m x d): int32, n x m.

    numpy has no fast product of bytes; converting to float32 first takes three times as long.
    """
    import numkong

    found: numpy.ndarray = numpy_module().asarray(numkong.dots_packed(many, numkong.dots_pack(few)))
    return found


@cache
def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
