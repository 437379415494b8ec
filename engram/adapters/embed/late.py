"""Late interaction: how near the tokens of texts come to each token of a question, by the vectors of single tokens.

MaxSim as in ColBERT (Khattab/Zaharia 2020), over static token vectors: for each token of the question the cosine of
the text's nearest token. One vector for a whole text says what it is about; this says whether each thing asked is in it.
"""

from __future__ import annotations

from engram.adapters.embed.numeric import numpy
from engram.adapters.embed.table import units
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from engram.adapters.embed.table import TokenTable

# The first numbers of a vector say most (Matryoshka training, PCA): comparing 128 was measured to be no worse than 256.
COMPARED = 128
MOST_ASKED = 48
MOST_STORED = 2048
_TWO_BYTES = 65_536


class Nearness(NamedTuple):
    """`shares` (tokens of the question,): how much each counts, 1 together; `nearest` (tokens, texts): cosines 0..1."""

    shares: NDArray[np.float32]
    nearest: NDArray[np.float32]


def packed(ids: NDArray[np.integer], table: TokenTable) -> bytes:
    """Token ids as an index keeps them: of two bytes each where the model has few enough, else of four."""
    return ids[:MOST_STORED].astype(_stored_type(table)).tobytes()


def shares(
    table: TokenTable, words: Sequence[NDArray[np.integer]], weights: Sequence[float]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The tokens of a question, each once, and how much each counts (1 together).

    A token counts by the weight of its word and by the length that training gave its vector; of very many the heaviest
    are kept. `words` are the token ids of each word, `weights` the words' weights.
    """
    heaviest: dict[int, float] = {}
    for ids, weight in zip(words, weights, strict=True):
        for token in ids.tolist():
            heaviest[token] = max(weight, heaviest.get(token, 0.0))
    tokens = numpy().fromiter(heaviest, dtype="intp")
    rows = table.rows(tokens)
    counts = numpy().sqrt(numpy().einsum("ij,ij->i", rows, rows)) * numpy().fromiter(
        heaviest.values(), dtype="float32"
    )
    if len(tokens) > MOST_ASKED:
        kept = numpy().sort(numpy().argsort(-counts, kind="stable")[:MOST_ASKED])
        tokens, counts = tokens[kept], counts[kept]
    whole = counts.sum()
    return (tokens, counts / whole) if whole > 0 else (tokens[:0], counts[:0])


def nearest(table: TokenTable, asked: NDArray[np.intp], texts: Sequence[bytes]) -> NDArray[np.float32]:
    """For each token asked and each packed text the cosine of the text's nearest token: 0..1, (asked, texts).

    Raises ValueError where a text is not what `packed` makes.
    """
    found: NDArray[np.float32] = numpy().zeros((len(asked), len(texts)), dtype="float32")
    every = numpy().frombuffer(b"".join(texts), _stored_type(table))
    if not len(asked) or not len(every):
        return found
    if every.max() >= table.tokens:
        raise ValueError("the index holds tokens that the model does not have")
    # Each token's vector once, however many texts say it.
    said = numpy().zeros(table.tokens, dtype=bool)
    said[every] = True
    used = numpy().flatnonzero(said)
    place = numpy().empty(table.tokens, dtype="intc")
    place[used] = numpy().arange(len(used), dtype="intc")
    cosines = _directions(table, asked) @ _directions(table, used).T
    lengths = numpy().array([len(text) for text in texts]) // every.itemsize
    filled = numpy().flatnonzero(lengths)
    starts = numpy().cumsum(lengths[filled]) - lengths[filled]
    found[:, filled] = numpy().maximum.reduceat(cosines.take(place.take(every), axis=1), starts, axis=1)
    numpy().maximum(found, 0.0, out=found)
    return found


def _directions(table: TokenTable, ids: NDArray[np.integer]) -> NDArray[np.float32]:
    """The first numbers of the tokens' vectors, (ids, COMPARED): unit rows or zeros."""
    return units(table.rows(ids)[:, :COMPARED].copy())


def _stored_type(table: TokenTable) -> str:
    return "<u2" if table.tokens <= _TWO_BYTES else "<u4"
