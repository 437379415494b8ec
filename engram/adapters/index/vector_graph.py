"""A graph over the vectors of a generation (HNSW, by usearch), which finds near vectors without comparing all of them.

It is a file beside the vectors. If it is missing, damaged or out of date, all vectors are searched. The catalog has the
name, size and check number of the valid file, since searching a damaged one would kill the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import zlib

from engram.adapters.numeric import dot_products, numpy_module
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy
    from usearch.index import Index

_PREFIX, _SUFFIX = "graph-", ".usearch"
_CONNECTIVITY, _EXPANSION_ADD = 16, 64
# The number of vectors that a search visits, and the share of the nearest ones that it must find. The smallest number is used
# with which stored vectors find that share of their own neighbours. If there is none, the texts have no neighbourhoods (random
# words), and comparing all is quicker than visiting more. With a million vectors, comparing all takes 15 ms, and no number of
# visits finds 0.98 of the nearest.
_EXPANSIONS, _ENOUGH = (320, 512), 0.98  # stored vectors find more than queries do: 0.98 versus 0.97
_MANY, _EXPANSIONS_OF_MANY, _ENOUGH_OF_MANY = 500_000, (320, 512, 1024), 0.95
_SAMPLES, _NEIGHBOURS = 64, 48
_BATCH = 8192  # vectors
_READ_BYTES = 1 << 20


class GraphFile(NamedTuple):
    """A graph as recorded in the catalog: file name, bytes, check number (CRC-32), and the number of its vectors.

    `expansion` is the number of vectors that a search visits; 0 says that the graph found too few of the nearest and was
    not kept.
    """

    name: str
    size: int
    check: int
    slots: int
    expansion: int

    def packed(self) -> str:
        """Format this for the metadata of a catalog."""
        return json.dumps(self)


def read_graph_file(packed: str) -> GraphFile | None:
    """Parse the result of `GraphFile.packed`; None for "" and anything else."""
    try:
        name, *numbers = json.loads(packed or "null")
        found = GraphFile(str(name), *map(int, numbers))
    except (ValueError, TypeError):
        return None
    return found if found.name == os.path.basename(found.name) and found.name.startswith(_PREFIX) else None


def graph_exists(folder: str, file: GraphFile) -> bool:
    """Return whether the file of a graph exists and has its size."""
    try:
        return os.stat(os.path.join(folder, file.name)).st_size == file.size
    except OSError:
        return False


def is_whole(folder: str, file: GraphFile) -> bool:
    """Return whether the file of a graph has the bytes that were written (reads all of it)."""
    try:
        return graph_exists(folder, file) and _check(os.path.join(folder, file.name)) == file.check
    except OSError:
        return False


def remove_graph(folder: str, file: GraphFile) -> None:
    """Remove the file of a damaged graph, so that another is made."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, file.name))


def remove_graphs(folder: str, keep: str = "") -> None:
    """Remove the files of graphs, including those of killed processes; a process that has one mapped keeps it."""
    for name in os.listdir(folder):
        if name.startswith(_PREFIX) and name != keep:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


class VectorGraph:
    """An open graph; its file is mapped."""

    def __init__(self, folder: str, file: GraphFile, width: int) -> None:
        """Check the file and map it. Raises ValueError if it is damaged, or its vectors have another length."""
        from usearch.index import Index

        self.file = file
        self._folder = folder
        if not is_whole(folder, file):
            raise ValueError(f"{file.name} is damaged")
        index = Index.restore(os.path.join(folder, file.name), view=True)
        if index is None or index.ndim != width:
            raise ValueError(f"{file.name} is of another kind")
        index.expansion_search = file.expansion  # type: ignore[misc] # it has a setter
        self._index = index
        self._lock = threading.Lock()  # all single-threaded searches of usearch share one working memory

    @property
    def is_usable(self) -> bool:
        """Whether the mapped file still has its size: reading past its end would kill the process."""
        return graph_exists(self._folder, self.file)

    def nearest(self, query: numpy.ndarray, count: int) -> numpy.ndarray:
        """Return the places of about the `count` vectors nearest to `query` (int8): intp, in no order."""
        with self._lock:
            keys = self._index.search(query, count, threads=1).keys
        found: numpy.ndarray = keys.astype(numpy_module().intp)
        return found


def make_graph(
    folder: str, vectors: numpy.ndarray, token: str, before: GraphFile | None, threads: int
) -> GraphFile:
    """Make the graph of `vectors` (int8, n x d) and sync it to disk; return its record for the catalog.

    An undamaged graph `before`, of the first of these vectors, is extended. `token` makes the name unique. Raises OSError.
    """
    np = numpy_module()
    index = _open_graph(folder, before, vectors.shape[1])
    first = before.slots if before is not None and len(index) else 0
    for start in range(first, len(vectors), _BATCH):
        part = vectors[start : start + _BATCH]
        filled = np.flatnonzero(
            part.any(axis=1)
        )  # vectors of deleted rows are zeros, which have no direction
        if len(filled):
            index.add((filled + start).astype(np.uint64), np.ascontiguousarray(part[filled]), threads=threads)
    name = f"{_PREFIX}{token}{_SUFFIX}"
    expansion = _find_expansion(index, vectors)
    if not expansion:
        return GraphFile(name, 0, 0, len(vectors), 0)
    path = os.path.join(folder, name)
    try:
        index.save(path)
    except RuntimeError as error:  # usearch has no specific error for a full disk
        raise OSError(f"{path}: {error}") from error
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    return GraphFile(name, os.stat(path).st_size, _check(path), len(vectors), expansion)


def _find_expansion(index: Index, vectors: numpy.ndarray) -> int:
    """Return the number of vectors that a search must visit to find enough of the nearest; 0 if no tried number does."""
    np = numpy_module()
    step = max(1, len(vectors) // _SAMPLES)
    samples = [vector for vector in vectors[::step] if vector.any()]
    wanted = min(_NEIGHBOURS, len(index))
    few = len(vectors) < _MANY
    expansions, enough = (_EXPANSIONS, _ENOUGH) if few else (_EXPANSIONS_OF_MANY, _ENOUGH_OF_MANY)
    exact = [dot_products(vectors, vector) for vector in samples]
    floors = [np.partition(products, -wanted)[-wanted] for products in exact]
    for expansion in expansions:
        index.expansion_search = expansion  # type: ignore[misc] # it has a setter
        found = 0
        for vector, products, floor in zip(samples, exact, floors, strict=True):
            keys = index.search(vector, wanted, threads=1).keys.astype(np.intp)
            found += min(wanted, int((products[keys] >= floor).sum()))
        if found and found >= enough * wanted * len(samples):
            return expansion
    return 0


def _open_graph(folder: str, before: GraphFile | None, width: int) -> Index:
    """Return the graph to extend, or an empty one."""
    if "engram.adapters.embed.onnx_encoder" in sys.modules and "usearch.compiled" not in sys.modules:
        with contextlib.suppress(ImportError):
            import onnxruntime  # noqa: F401 - imported after usearch it would end the process; see that module
    from usearch.index import Index

    if before is not None and is_whole(folder, before):
        index = Index.restore(os.path.join(folder, before.name))
        if index is not None and index.ndim == width:
            index.expansion_add = _EXPANSION_ADD  # type: ignore[misc] # it has a setter
            return index
    return Index(
        ndim=width,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
    )


def _check(path: str) -> int:
    check = 0
    with open(path, "rb") as file:
        while part := file.read(_READ_BYTES):
            check = zlib.crc32(part, check)
    return check
