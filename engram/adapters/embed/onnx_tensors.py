"""The weights in an ONNX file, mapped: without onnxruntime, whose start costs a command more than a small model's answer.

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
_NUMBER = 0
_EIGHT_BYTES = 1
_BYTES = 2
_FOUR_BYTES = 5


def read_tensors(data: memoryview) -> dict[str, NDArray[np.floating | np.int8]]:
    """Return the initializers of floats and one-byte integers by name, in the file's order. Raises ValueError, IndexError."""
    found = {}
    for graph in _messages(data, _GRAPH):
        for initializer in _messages(graph, _INITIALIZER):
            parts: dict[int, Any] = {_DIMS: []}
            for field, value in _fields(initializer):
                if field == _DIMS:
                    parts[_DIMS] += [value] if isinstance(value, int) else _numbers(value)
                else:
                    parts[field] = value
            if parts.get(_TYPE) in _TYPES and _RAW in parts:
                array = numpy_module().frombuffer(parts[_RAW], _TYPES[parts[_TYPE]])
                found[bytes(parts[_NAME]).decode()] = array.reshape(parts[_DIMS])
    return found


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    return (value for field, value in _fields(data) if field == wanted and isinstance(value, memoryview))


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message: their numbers with an integer, or with bytes."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        kind = key & 7
        if kind == _NUMBER:
            value, at = _number(data, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _number(data, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError("no ONNX file")
        yield key >> 3, data[at : at + size]
        at += size


def _numbers(data: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _number(data, at)
        found.append(value)
    return found


def _number(data: memoryview, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the lowest first; also return where the next one begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
