"""Rows of a table of token vectors, read on demand: a process that answers questions needs only a few thousand."""

from __future__ import annotations

from threading import Lock

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.model_files import REINSTALL, TABLE
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.model_files import TensorFile

    MakeRows = Callable[[NDArray[np.integer]], NDArray[Any]]

_MOST_READ = 10_000  # rows (2.5 MB); a process that needs more builds an index, and needs most rows


class RowCache:
    """Rows of int8 numbers by token id, made on first use; only those take memory.

    Safe to use from several threads. The function that makes rows is passed to each call and not stored, since a
    reference cycle would keep the file open until a garbage collection, which is rare in a server.
    """

    def __init__(self, tokens: int, width: int) -> None:
        self._places = numpy_module().zeros(tokens, dtype="intp")  # 0: not made yet
        self._rows = numpy_module().empty((1, width), dtype="int8")
        self._end = 1
        self._lock = Lock()

    @property
    def count(self) -> int:
        """The number of rows made so far."""
        return self._end - 1

    def take(self, ids: NDArray[np.integer], make: MakeRows) -> NDArray[np.int8]:
        """Return the rows of token ids, (len(ids), width); `make` is called for those of missing ids.

        Raises IndexError for an id that the model does not have.
        """
        places = self._places.take(ids)
        if not places.all():
            self._add(ids, make)
            places = self._places.take(ids)
        found: NDArray[np.int8] = self._rows.take(places, axis=0)
        return found

    def _add(self, ids: NDArray[np.integer], make: MakeRows) -> None:
        with self._lock:
            missing = ids[self._places.take(ids) == 0]
            # Not `numpy.unique`, which imports masked arrays: 6 ms of a process's first question.
            fresh = numpy_module().array(sorted(set(missing.tolist())), dtype=ids.dtype)
            if not len(fresh):  # another thread has just made them
                return
            start, end = self._end, self._end + len(fresh)
            if end > len(self._rows):
                grown = numpy_module().empty((max(end, 2 * start), self._rows.shape[1]), dtype="int8")
                grown[:start] = self._rows[:start]
                self._rows = grown
            self._rows[start:end] = make(fresh)
            # Last, since other threads read without the lock.
            self._places[fresh] = numpy_module().arange(start, end)
            self._end = end


class TableRows:
    """The bundled table of vectors: rows are read on demand; once there are many, the whole file is mapped.

    The system maps sixteen pages at a time, so a mapped table would be resident as a whole after a few hundred questions.
    """

    dtype = "int8"

    def __init__(self, file: TensorFile) -> None:
        """Open the file, which may be replaced later. Raises EmbeddingError if it has no table of int8 numbers."""
        tensor = file.tensors.get(TABLE)
        if tensor is None or tensor.dtype != "I8":
            raise EmbeddingError(f"{file.path} has no '{TABLE}' of one-byte integers.", REINSTALL)
        try:
            self._file = open(file.path, "rb", buffering=0)  # noqa: SIM115 - closed with this object
        except OSError as error:
            raise EmbeddingError(
                f"The model file {file.path} cannot be read: {error.strerror}.", REINSTALL
            ) from error
        self.shape = tensor.shape
        self._start = tensor.start
        self._rows: RowCache | NDArray[np.int8] = RowCache(len(self), self.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def take(self, ids: NDArray[np.integer], axis: int = 0) -> NDArray[np.int8]:
        """Return the rows of token ids, as numpy does. Raises EmbeddingError if the file has shrunk."""
        rows = self._rows
        if isinstance(rows, RowCache):
            if rows.count <= _MOST_READ:
                return rows.take(ids, self._read)
            rows = self._rows = self._map()
        return rows.take(ids, axis=axis)

    def _read(self, ids: NDArray[np.integer]) -> NDArray[np.int8]:
        width = self.shape[1]
        rows = []
        for number in ids.tolist():
            self._file.seek(self._start + number * width)
            rows.append(self._file.read(width))
        return self._array(b"".join(rows), len(ids))

    def _map(self) -> NDArray[np.int8]:
        import mmap

        data = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._array(memoryview(data)[self._start :], len(self))

    def _array(self, data: bytes | memoryview, rows: int) -> NDArray[np.int8]:
        count = rows * self.shape[1]
        if len(data) < count:
            raise EmbeddingError(f"The model file {self._file.name} has shrunk.", REINSTALL)
        found: NDArray[np.int8] = numpy_module().frombuffer(data, "int8", count)
        return found.reshape(rows, self.shape[1])
