"""Read the weights in a mapped ONNX file without onnxruntime, which takes longer to start than a small model to answer.

An ONNX file is a protobuf message (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): `graph` is field 7 of it, a
graph's `initializer` field 5, and of such a tensor `dims` is field 1, `data_type` 2, `name` 8 and `raw_data` 9.
"""

from __future__ import annotations

from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

# Numbers of fields of ModelProto, GraphProto and TensorProto (onnx.proto).
_GRAPH = 7
_INITIALIZER = 5
_DIMS = 1
_TYPE = 2
_NAME = 8
_RAW = 9
_TYPES = {1: "<f4", 3: "<i1"}
# Wire types of protobuf.
_VARINT = 0
_EIGHT_BYTES = 1
_BYTES = 2
_FOUR_BYTES = 5


def read_tensors(data: memoryview) -> dict[str, NDArray[np.floating | np.int8]]:
    """Return the float and int8 initializers by name, in the file's order. Raises ValueError, IndexError."""
    found = {}
    for graph in _messages(data, _GRAPH):
        for initializer in _messages(graph, _INITIALIZER):
            parts: dict[int, Any] = {_DIMS: []}
            for field, value in _fields(initializer):
                if field == _DIMS:
                    parts[_DIMS] += [value] if isinstance(value, int) else _varints(value)
                else:
                    parts[field] = value
            if parts.get(_TYPE) in _TYPES and _RAW in parts:
                array = numpy_module().frombuffer(parts[_RAW], _TYPES[parts[_TYPE]])
                found[bytes(parts[_NAME]).decode()] = array.reshape(parts[_DIMS])
    return found


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    return (value for field, value in _fields(data) if field == wanted and isinstance(value, memoryview))


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message: their numbers with integers or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError("no ONNX file")
        yield key >> 3, data[at : at + size]
        at += size


def _varints(data: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Read a varint (seven bits a byte, the lowest first); return it and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
