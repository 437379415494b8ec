"""numpy and numkong, imported on first use; numpy set to one thread.

One BLAS thread: starting a pool costs 50 CPU-ms at import, and under load more threads were four times slower.
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


_WORTH_A_THREAD = 8_000_000  # bytes: reading fewer takes hardly longer than starting a thread
_MOST_THREADS = 4


@cache
def numpy_module() -> ModuleType:
    """numpy."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import numpy

    return numpy


def dot_products(matrix: numpy.ndarray, vector: numpy.ndarray) -> numpy.ndarray:
    """Inner products of each row of `matrix` (int8, n x d, n > 0) with `vector` (int8, d): float32, n.

    numkong is the kernel library under usearch; called directly it is more than twice as fast as
    `usearch.index.search(exact=True)` on 100,000 rows and 60 ms cheaper to import. Not its "angular": that
    gives NaN for a zero vector on some processors and 1 on others. Nor its packed product: of a matrix that just was in
    the cache it takes half the time, between the other work of questions nearly twice as much; the same is true of
    int32 as its result (100,000 lore: 9.5 ms a question, with the float64 that it makes otherwise 6.6).

    One core cannot read memory as fast as there is: a matrix too large for the cache is shared out among threads.
    100,000 lore are asked in 5.3 to 6.2 ms by two threads and in 8.3 to 9.1 by one, of no more processor time.
    """
    np = numpy_module()
    import numkong

    found: numpy.ndarray = np.empty(len(matrix), np.float32)
    asked = vector[None, :]
    failed = list[Exception]()

    def compute(start: int, end: int) -> None:
        try:
            found[start:end] = np.asarray(numkong.cdist(matrix[start:end], asked, "dot")).reshape(-1)
        except Exception as error:  # noqa: BLE001 - of whatever kind: it is raised below, where somebody hears it
            failed.append(error)

    parts = max(1, min(matrix.nbytes // _WORTH_A_THREAD, _MOST_THREADS, _cores()))
    edges = [len(matrix) * part // parts for part in range(parts + 1)]
    others = []
    for edge in pairwise(edges[1:]):
        # Not a pool that is kept: its threads would be missing in a process that forked.
        other = threading.Thread(target=compute, args=edge)
        try:
            other.start()
            others.append(other)
        except RuntimeError:  # the system allows no more threads
            compute(*edge)
    compute(*edges[:2])
    for other in others:
        other.join()
    if failed:
        raise failed[0]
    return found


@cache
def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
