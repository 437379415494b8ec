"""The cosines of a few texts without numpy, whose import costs a command more than everything else it does."""

from __future__ import annotations

import mmap

from engram.adapters.int8_products import sum_of_products
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.embed.model_files import TensorFile
    from engram.adapters.embed.protocols import Tokenizer


def similarities(file: TensorFile, tokenizer: Tokenizer, text: str, others: Sequence[str]) -> list[float]:
    """Return the cosine of a text with each of the others by a table of one-byte integers, 0 without known words.

    Raises EmbeddingError, OSError.
    """
    with open(file.path, "rb") as opened:
        data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    table = file.tensors["embeddings"]
    width = table.shape[1]

    def rows(content: str) -> bytes:
        starts = [table.start + token * width for token in tokenizer.ids(content)]
        return b"".join([data[start : start + width] for start in starts])

    with data:
        one = rows(text)
        return [_cosine(one, rows(other), width) for other in others]


def _cosine(one: bytes, other: bytes, width: int) -> float:
    """Return the cosine of the sums of two texts' vectors."""
    if not one or not other:
        return 0.0
    lengths = sum_of_products(one, one, width) * sum_of_products(other, other, width)
    return float(sum_of_products(one, other, width) / lengths**0.5) if lengths else 0.0
