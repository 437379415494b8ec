"""The vectors: one or several int8 vectors for each row, in one flat file; the best one counts.

A search compares all of them, or, if there is a graph (`vector_graph`), those it finds and those newer than it.

`vectors.i8` holds the vectors, `starts.u32` the number of each row's first vector. Both only grow; the vectors of a
row no longer in use are zeroed and match nothing. Rounding a unit vector to int8 changes its cosines by about 0.001
and halves the file and the time of a scan.
"""

from __future__ import annotations

import mmap
import os
import threading
import zlib
from contextlib import suppress
from itertools import pairwise
from operator import ge

from engram.adapters.index.damage import START_BYTES, STARTS, VECTORS, check_vectors
from engram.adapters.numeric import dot_products, numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy

    from engram.adapters.index.plain_cosines import PlainCosines
    from engram.adapters.index.vector_graph import GraphFile, VectorGraph

_SCALE = 224.0
_QUERY_BLOCK, _BLOCK = 64, 1024  # queries and vectors that fit into a processor's cache
_SECOND_QUERY = 2
_GROUP = 64
_FEW_OF = 16  # if more than one vector in this many is wanted, comparing all is quicker


class VectorFile:
    """The vectors of one generation, of `dimensions` int8 numbers each."""

    def __init__(self, folder: str, dimensions: int) -> None:
        """Open nothing yet: a query of words only never loads numpy."""
        self.folder = folder
        self.path = os.path.join(folder, VECTORS)
        self.starts_path = os.path.join(folder, STARTS)
        self.dimensions = dimensions
        self.graph_file: GraphFile | None = None  # the graph that the catalog names
        self._graph: VectorGraph | None = None
        self._opener: threading.Thread | None = None
        self._tried: GraphFile | None = None  # the last graph that was opened, or failed to open
        self._queries = 0
        self._vectors: numpy.ndarray | None = None
        self._edges: numpy.ndarray | None = None

    def write(self, row: int, slot: int, vectors: numpy.ndarray, counts: Sequence[int]) -> list[int]:
        """Store the vectors (sum(counts) x dimensions) of rows from `row` on, at places from `slot` on.

        Row `row + i` gets the next `counts[i]` of them. Returns the check number of each row.
        """
        numpy = numpy_module()
        data = memoryview(quantise(vectors).tobytes())
        ends = numpy.cumsum([0, *counts])
        _write_at(self.path, slot * self.dimensions, data)
        _write_at(self.starts_path, row * START_BYTES, (ends[:-1] + slot).astype("<u4").tobytes())
        edges = (ends * self.dimensions).tolist()
        return [zlib.crc32(data[start:end]) for start, end in pairwise(edges)]

    def overwrite(self, vectors: Mapping[int, numpy.ndarray], total: int, slots: int) -> dict[int, int]:
        """Overwrite the vectors of rows; return their check numbers by row.

        Raises ValueError if a row has another number of vectors.
        """
        edges = self.edges(total, slots)
        checks = {}
        with open(self.path, "r+b") as file:
            for row, replacement in vectors.items():
                data = quantise(replacement.copy()).tobytes()
                if len(data) != (edges[row + 1] - edges[row]) * self.dimensions:
                    raise ValueError(f"row {row} has a different number of vectors")
                file.seek(edges[row] * self.dimensions)
                file.write(data)
                checks[row] = zlib.crc32(data)
            file.flush()
            os.fsync(file.fileno())
        return checks

    def clear(self, rows: Sequence[int], total: int, slots: int) -> None:
        """Zero the vectors of rows no longer in use; there are `total` rows and `slots` vectors."""
        edges = self.edges(total, slots)
        with open(self.path, "r+b") as file:
            for row in rows:
                file.seek(edges[row] * self.dimensions)
                file.write(bytes((edges[row + 1] - edges[row]) * self.dimensions))

    def edges(self, total: int, slots: int) -> memoryview:
        """Return the place of the first vector of each of `total` rows, and `slots` at the end."""
        with open(self.starts_path, "rb") as file:
            raw = file.read(total * START_BYTES)
        return memoryview(raw + slots.to_bytes(START_BYTES, "little")).cast("I")

    def damaged(self, checks: Sequence[tuple[int, int]], total: int, slots: int) -> list[int]:
        """Return the rows among (row, check number) whose stored vectors differ from what was written. Reads everything."""
        edges = self.edges(total, slots)
        with open(self.path, "rb") as file:
            data = memoryview(file.read())
        width = self.dimensions
        return [
            row
            for row, check in checks
            if zlib.crc32(data[edges[row] * width : edges[row + 1] * width]) != check
        ]

    def cosines(self, query: numpy.ndarray, rows: int, slots: int, *, exact: bool = False) -> Cosines:
        """Return the cosines of the unit vector `query` (d) with each row.

        Unless `exact`, a graph finds the nearest rows if there is one: nearly always the same rows. Raises ValueError if
        the files are too short or out of order.
        """
        np = numpy_module()
        if rows == 0 or slots == 0:
            return Cosines(np.zeros(rows, np.float32))
        vectors, edges = self._map(rows, slots)
        quantised = quantise(query)
        graph = None if exact else self._usable_graph(slots)
        if graph is not None:
            return GraphCosines(vectors, quantised, edges, 1 / _SCALE**2, graph)
        return Cosines(dot_products(vectors, quantised), edges, 1 / _SCALE**2)

    def plain_cosines(self, query: Sequence[int], rows: int, slots: int) -> PlainCosines:
        """Return the exact cosines without numpy, for a query that is already quantised.

        Raises ValueError if the files are too short or out of order.
        """
        from engram.adapters.index.plain_cosines import PlainCosines, read_products

        check_vectors(self.folder, self.dimensions, rows, slots)
        edges = self.edges(rows, slots)
        if edges[0] != 0 or any(map(ge, edges, edges[1:])):
            raise ValueError(f"{self.starts_path} is not in order")
        return PlainCosines(read_products(self.path, query, slots), edges, 1 / _SCALE**2)

    def _usable_graph(self, slots: int) -> VectorGraph | None:
        """Return the graph that the catalog names, once it is open.

        A thread opens it during the second query of a process: checking 40 MB and importing usearch takes as long as ten
        exact searches, which a single command never regains.
        """
        file, graph = self.graph_file, self._graph
        if file is None or not file.expansion or file.slots > slots:
            return None
        if graph is not None and graph.file == file:
            return graph if graph.is_usable else None
        self._queries += 1
        is_busy = self._opener is not None and self._opener.is_alive()
        if self._queries >= _SECOND_QUERY and file != self._tried and not is_busy:
            opener = threading.Thread(target=self._open_graph, args=(file,), name="engram-graph")
            with suppress(RuntimeError):  # the system allows no more threads
                opener.start()
                self._opener, self._tried = opener, file
        return None

    def _open_graph(self, file: GraphFile) -> None:
        """Open a graph; remove a damaged one, so that another is made."""
        from engram.adapters.index.vector_graph import VectorGraph, remove_graph

        try:
            self._graph = VectorGraph(self.folder, file, self.dimensions)
        except (ValueError, OSError):
            remove_graph(self.folder, file)

    def wait_for_graph(self) -> bool:
        """Wait until a graph that is being opened is open; return whether there is one."""
        if self._opener is not None:
            self._opener.join()
        return self._graph is not None and self._graph.file == self.graph_file

    def stored(self, slots: int) -> numpy.ndarray:
        """Return the first `slots` vectors as stored: int8, mapped. Raises ValueError if there are fewer, or OSError."""
        np = numpy_module()
        found: numpy.ndarray = np.memmap(self.path, np.int8, "r", shape=(slots, self.dimensions))
        return found

    def cosines_of(self, queries: numpy.ndarray, rows: int, slots: int) -> Iterator[numpy.ndarray]:
        """Yield the best cosine of every row (float32, rows) for each of many queries (n x d), in a fifth of the time each.

        Nothing is rounded: sums of products of small integers are integers that float32 represents exactly.
        """
        np = numpy_module()
        if rows == 0 or slots == 0:
            yield from np.zeros((len(queries), rows), np.float32)
            return
        vectors, edges = self._map(rows, slots)
        # The rows that have a second vector, a third, ..., and its places. Rows have few vectors: one pass for each is three
        # times as fast as `maximum.reduceat` over all.
        counts = np.diff(edges)
        longer = [np.flatnonzero(counts > number) for number in range(1, int(counts.max()))]
        further = [(chosen, edges[chosen] + number) for number, chosen in enumerate(longer, 1)]
        # Reuse the memory: new pages take longer than the computation.
        products = np.empty((min(len(queries), _QUERY_BLOCK), slots), np.float32)
        part = np.empty((_BLOCK, self.dimensions), np.float32)
        for start in range(0, len(queries), _QUERY_BLOCK):
            quantised = quantise(queries[start : start + _QUERY_BLOCK]).astype(np.float32)
            for place in range(0, slots, _BLOCK):
                block = vectors[place : place + _BLOCK]
                part[: len(block)] = block
                products[: len(quantised), place : place + len(block)] = quantised @ part[: len(block)].T
            for of_query in products[: len(quantised)]:
                best: numpy.ndarray = of_query.take(edges[:-1])
                for chosen, places in further:
                    best[chosen] = np.maximum(best.take(chosen), of_query.take(places))
                best *= 1 / _SCALE**2
                yield best

    def wholes(self, rows: Sequence[int], total: int, slots: int) -> numpy.ndarray:
        """Return the vectors of the whole texts of these rows, without those of passages: float32, len(rows) x d, length about 1.

        Raises ValueError if the files are too short or out of order.
        """
        np = numpy_module()
        if not rows:
            return np.zeros((0, self.dimensions), np.float32)  # type: ignore[no-any-return]
        vectors, edges = self._map(total, slots)
        found: numpy.ndarray = vectors[edges[np.asarray(rows)]].astype(np.float32)
        found *= 1 / _SCALE
        return found

    def _map(self, rows: int, slots: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return the mapped vectors, and the place of each row's first one, with `slots` at the end: (rows + 1).

        Sizes are checked each time: reading a mapping past a file's end kills the process.
        """
        np = numpy_module()
        check_vectors(self.folder, self.dimensions, rows, slots)
        vectors, edges = self._vectors, self._edges  # read and set in one step: threads share them
        if vectors is None or len(vectors) < slots:
            with open(self.path, "rb") as file:  # not numpy's memmap, each slice of which runs Python code
                flat = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.int8)
            usable = len(flat) // self.dimensions
            self._vectors = vectors = flat[: usable * self.dimensions].reshape(usable, self.dimensions)
        if edges is None or len(edges) != rows + 1 or edges[-1] != slots:
            # Only the rows in the catalog: a killed writer left those beyond, which will be overwritten.
            edges = np.append(np.fromfile(self.starts_path, "<u4", rows), slots).astype(np.intp)
            if edges[0] != 0 or (edges[1:] <= edges[:-1]).any():
                raise ValueError(f"{self.starts_path} is not in order")
            self._edges = edges
        return vectors[:slots], edges


def quantise(vectors: numpy.ndarray) -> numpy.ndarray:
    """Quantise components of unit vectors to int8: 127 stands for 0.567, the largest seen in single words."""
    np = numpy_module()
    scaled = vectors * np.float32(_SCALE)
    np.rint(scaled, out=scaled)
    result: numpy.ndarray = scaled.clip(-127, 127, out=scaled).astype(np.int8)
    return result


def _write_at(path: str, position: int, data: bytes | memoryview) -> None:
    with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
        file.seek(position)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # zeros after a power cut would look like any other vector


class Cosines:
    """The cosines of a query with each of `rows` rows, computed as needed; the best vector of a row counts."""

    def __init__(
        self, products: numpy.ndarray, edges: numpy.ndarray | None = None, scale: float = 1.0
    ) -> None:
        """Take the products of the query with each vector (float32, slots); times `scale` they are cosines.

        The vectors of row i are at `edges[i]` up to `edges[i + 1]`; without `edges` (rows + 1) each row has one vector.
        """
        self._all = products
        self._edges = edges
        self._scale = numpy_module().float32(scale)
        self.rows = len(products) if edges is None else len(edges) - 1

    def of(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Return the cosines of these rows: float32, len(rows)."""
        np = numpy_module()
        found: numpy.ndarray
        if self._edges is None or not len(rows):
            found = self._all.take(rows)
        else:
            starts = self._edges.take(rows)
            counts = self._edges.take(rows + 1) - starts
            after = counts.cumsum()
            first = after - counts
            places = np.arange(after[-1]) + (starts - first).repeat(counts)
            found = np.maximum.reduceat(self._products(places), first)
        result: numpy.ndarray = found * self._scale
        return result

    def _products(self, places: numpy.ndarray) -> numpy.ndarray:
        """Return the products of the query with the vectors at these places."""
        found: numpy.ndarray = self._all.take(places)
        return found

    def largest(self, count: int) -> numpy.ndarray:
        """Return rows in order: the `count` nearest, ties with the last of them, and a few others."""
        np = numpy_module()
        products, groups = self._all, len(self._all) // _GROUP
        wanted = 2 * count
        while wanted < groups:
            # The best vectors of `wanted` groups are that many vectors, so no lower one can be among the nearest.
            best = products[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
            floor = np.partition(best, groups - wanted)[groups - wanted]
            found = self._rows_of((products >= floor).nonzero()[0])
            if len(found) >= count:
                return found
            wanted *= 2  # too many vectors belong to the same rows
        all_rows: numpy.ndarray = np.arange(self.rows)
        return all_rows

    def _rows_of(self, places: numpy.ndarray) -> numpy.ndarray:
        """Return the rows of the vectors at these places in order, each once."""
        if self._edges is None or not len(places):
            return places
        rows: numpy.ndarray = self._edges.searchsorted(places, side="right") - 1
        is_first = numpy_module().ones(len(rows), dtype=bool)
        is_first[1:] = rows[1:] != rows[:-1]
        found: numpy.ndarray = rows[is_first]
        return found


class GraphCosines(Cosines):
    """Cosines where a graph finds the nearest vectors: exact cosines of those it finds and of all vectors newer than it."""

    def __init__(
        self,
        vectors: numpy.ndarray,
        query: numpy.ndarray,
        edges: numpy.ndarray,
        scale: float,
        graph: VectorGraph,
    ) -> None:
        """Read no vector yet; `vectors` (slots x d) and `query` (d) are int8."""
        super().__init__(numpy_module().empty(0, "float32"), edges, scale)
        self._vectors = vectors
        self._query = query
        self._graph = graph
        self._tail: numpy.ndarray | None = None

    def of(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Return the cosines of these rows: float32, len(rows)."""
        if _FEW_OF * len(rows) > self.rows:
            self._compute_all()
        return super().of(rows)

    def largest(self, count: int) -> numpy.ndarray:
        """Return rows in order: nearly always the `count` nearest, and others."""
        np = numpy_module()
        wanted = 2 * count
        while _FEW_OF * wanted <= len(self._vectors) and not len(self._all):
            found = self._graph.nearest(self._query, wanted)
            places = np.append(found, self._tail_places(wanted))
            rows = self._rows_of(np.sort(places))
            rows = rows[self.of(rows) > 0]  # the vectors of deleted rows are zeros
            if len(rows) >= count:
                return rows
            wanted *= 2  # too many vectors belong to the same rows, or to deleted ones
        self._compute_all()
        return super().largest(count)

    def _tail_places(self, wanted: int) -> numpy.ndarray:
        """Return the places of the `wanted` nearest among the vectors newer than the graph."""
        first = self._graph.file.slots
        if self._tail is None:
            tail = self._vectors[first:]
            self._tail = dot_products(tail, self._query) if len(tail) else numpy_module().empty(0, "float32")
        others = max(0, len(self._tail) - wanted)
        found: numpy.ndarray = self._tail.argpartition(others)[others:]
        return found + first

    def _products(self, places: numpy.ndarray) -> numpy.ndarray:
        if len(self._all):
            return super()._products(places)
        return dot_products(self._vectors.take(places, axis=0), self._query)

    def _compute_all(self) -> None:
        if not len(self._all):
            self._all = dot_products(self._vectors, self._query)
