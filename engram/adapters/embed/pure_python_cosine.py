"""The cosines of a few texts without numpy, whose import costs a command more than everything else it does."""

from __future__ import annotations

import mmap
import struct

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
    row = struct.Struct(f"{table.shape[1]}b")

    def total(content: str) -> list[int]:
        rows = [row.unpack_from(data, table.start + token * row.size) for token in tokenizer.ids(content)]
        return list(map(sum, zip(*rows, strict=True)))

    with data:
        one = total(text)
        return [_cosine(one, total(other)) for other in others]


def _cosine(one: Sequence[int], other: Sequence[int]) -> float:
    if not one or not other:
        return 0.0
    lengths = _product(one, one) * _product(other, other)
    return _product(one, other) / lengths**0.5 if lengths else 0.0


def _product(one: Sequence[int], other: Sequence[int]) -> int:
    return sum([a * b for a, b in zip(one, other, strict=True)])
