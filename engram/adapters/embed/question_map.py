"""The map of questions: a matrix from bundled vectors to the transformer's space, fitted by tools/train_embedding.

The matrix is int8, with a scale for each row; it has a row for each dimension of the transformer's vectors.
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
        """Map the rows of `vectors`, or a single vector; the results have any length."""
        np = numpy_module()
        matrix = np.frombuffer(self.matrix, np.int8).reshape(-1, self.width).astype(np.float32)
        return (vectors @ matrix.T) * np.frombuffer(self.scales, "<f4")  # type: ignore[no-any-return]

    def of_direction(self, direction: Sequence[int]) -> list[float]:
        """Map a vector of int8 numbers without numpy."""
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
