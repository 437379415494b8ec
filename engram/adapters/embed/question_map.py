"""The map of questions: the matrix that takes bundled vectors into the transformer's space, fitted by tools/train_embedding.

Its numbers have one byte, and each of its rows, one for each number of the transformer's vectors, a scale.
"""

from __future__ import annotations

import os
import struct

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.minilm import DIMENSIONS
from engram.adapters.embed.model_files import read_header, read_tensor
from engram.adapters.int8_products import products
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MAP_FILE = os.path.join(os.path.dirname(__file__), "bundled", "questions.safetensors")
MATRIX = "questions"  # the tensor of (DIMENSIONS, bundled dimensions) int8
SCALES = "scales"  # (DIMENSIONS,) float32


class QuestionMap(NamedTuple):
    """The bytes of the matrix and of its scales, and the length of its rows."""

    matrix: bytes
    scales: bytes
    width: int

    def of(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the rows of `vectors`, or a single one, are mapped to; of any length."""
        np = numpy_module()
        matrix = np.frombuffer(self.matrix, np.int8).reshape(-1, self.width).astype(np.float32)
        return (vectors @ matrix.T) * np.frombuffer(self.scales, "<f4")  # type: ignore[no-any-return]

    def of_direction(self, direction: Sequence[int]) -> list[float]:
        """Return the same, without numpy, for a vector in numbers of one byte."""
        found = products(self.matrix, struct.pack(f"{self.width}b", *direction), self.width)
        return [
            value * scale
            for value, scale in zip(found, struct.unpack(f"<{len(found)}f", self.scales), strict=True)
        ]


def read_map(path: str, width: int) -> QuestionMap:
    """Return the map of bundled vectors of this length. Raises EmbeddingError."""
    file = read_header(path)
    matrix, scales = file.tensors.get(MATRIX), file.tensors.get(SCALES)
    if (matrix and matrix.shape) != (DIMENSIONS, width) or (scales and scales.shape) != (DIMENSIONS,):
        raise EmbeddingError(
            f"The map of questions in {path} does not fit the models.", "Install Engram again."
        )
    return QuestionMap(read_tensor(file, MATRIX, "I8"), read_tensor(file, SCALES, "F32"), width)
