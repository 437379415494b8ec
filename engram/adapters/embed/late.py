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
_NOTHING = (0.0, 0)
_TINY = 1e-9


class Asked(NamedTuple):
    """The tokens of a question, each once: how much each counts (1 together) and the number of the word that it is of."""

    tokens: NDArray[np.intp]
    shares: NDArray[np.float32]
    words: NDArray[np.intp]


class Nearness(NamedTuple):
    """For each token asked and each text the cosine of the text's nearest token: 0..1, (tokens, texts)."""

    asked: Asked
    nearest: NDArray[np.float32]


def packed(ids: NDArray[np.integer], table: TokenTable) -> bytes:
    """Token ids as an index keeps them: of two bytes each where the model has few enough, else of four."""
    return ids[:MOST_STORED].astype(_stored_type(table)).tobytes()


def asked(table: TokenTable, words: Sequence[NDArray[np.integer]], weights: Sequence[float]) -> Asked:
    """The tokens of a question. `words` are the token ids of each word, `weights` the words' weights.

    A token counts by the weight of its heaviest word and by the length that training gave its vector; of very many
    the heaviest are kept.
    """
    heaviest: dict[int, tuple[float, int]] = {}
    for number, (ids, weight) in enumerate(zip(words, weights, strict=True)):
        for token in ids.tolist():
            if weight > heaviest.get(token, _NOTHING)[0]:
                heaviest[token] = weight, number
    tokens = numpy().fromiter(heaviest, dtype="intp")
    rows = table.rows(tokens)
    shares = numpy().sqrt(numpy().einsum("ij,ij->i", rows, rows))
    shares *= numpy().array([weight for weight, _ in heaviest.values()], dtype="float32")
    kept = numpy().sort(numpy().argsort(-shares, kind="stable")[:MOST_ASKED])
    owners = numpy().array([number for _, number in heaviest.values()], dtype="intp")
    return Asked(tokens[kept], shares[kept] / max(shares[kept].sum(), _TINY), owners[kept])


def nearest(table: TokenTable, tokens: NDArray[np.intp], texts: Sequence[bytes]) -> NDArray[np.float32]:
    """For each of `tokens` and each packed text the cosine of the text's nearest token: 0..1, (tokens, texts).

    Raises ValueError where a text is not what `packed` makes.
    """
    found: NDArray[np.float32] = numpy().zeros((len(tokens), len(texts)), dtype="float32")
    every = numpy().frombuffer(b"".join(texts), _stored_type(table))
    if not len(tokens) or not len(every):
        return found
    if every.max() >= table.tokens:
        raise ValueError("the index holds tokens that the model does not have")
    # Each token's vector once, however many texts say it.
    said = numpy().zeros(table.tokens, dtype=bool)
    said[every] = True
    used = numpy().flatnonzero(said)
    place = numpy().empty(table.tokens, dtype="intc")
    place[used] = numpy().arange(len(used), dtype="intc")
    cosines = _directions(table, tokens) @ _directions(table, used).T
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
