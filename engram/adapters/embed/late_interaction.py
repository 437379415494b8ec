"""Late interaction: how near the tokens of texts come to each token of a question, by the vectors of single tokens.

MaxSim as in ColBERT (Khattab/Zaharia 2020), over static token vectors: for each token of the question the cosine of
the text's nearest token. One vector for a whole text says what it is about; this says whether each thing asked is in
it, and whether all of it is said in one place.
"""

from __future__ import annotations

from engram.adapters.embed.table import units
from engram.adapters.numeric import dot_product_matrix, numpy_module
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
STRETCH = 48  # tokens: what is asked has to be said together, in about two sentences
_TWO_BYTES = 65_536
_NOTHING = (0.0, 0)
_TINY = 1e-9
_SCALE = 224.0  # 127 stands for 0.567: hardly any number of a unit vector is larger


class Asked(NamedTuple):
    """The tokens of a question, each once: how much each counts (1 together) and the number of the word that it is of."""

    tokens: NDArray[np.intp]
    shares: NDArray[np.float32]
    words: NDArray[np.intp]


class Nearness(NamedTuple):
    """For each token asked and each text the cosine of the nearest token, 0..1: (2, tokens, texts).

    First of that stretch of the text which comes nearest to all that is asked, then of the whole text. `lengths` are
    those of the whole texts, in tokens.
    """

    asked: Asked
    nearest: NDArray[np.float32]
    lengths: NDArray[np.intp]


class TokenDirections:
    """The directions of single tokens, worked out when a question or a text first has them: one byte a number."""

    def __init__(self, table: TokenTable) -> None:
        """Memory is taken as tokens are met: at most COMPARED + 5 bytes for each token of the model."""
        self._table = table
        self._stored_type = "<u2" if table.tokens <= _TWO_BYTES else "<u4"
        self._known = numpy_module().zeros(table.tokens, dtype=bool)
        self._lengths = numpy_module().empty(table.tokens, dtype="float32")
        self._directions = numpy_module().empty((table.tokens, min(COMPARED, table.dimensions)), dtype="int8")

    def packed(self, ids: NDArray[np.integer]) -> bytes:
        """Token ids as an index keeps them: of two bytes each where the model has few enough, else of four."""
        return ids[:MOST_STORED].astype(self._stored_type).tobytes()

    def asked(self, words: Sequence[Sequence[int]], weights: Sequence[float]) -> Asked:
        """The tokens of a question. `words` are the token ids of each word, `weights` the words' weights.

        A token counts by the weight of its heaviest word and by the length that training gave its vector; of very
        many the heaviest are kept.
        """
        heaviest: dict[int, tuple[float, int]] = {}
        for number, (ids, weight) in enumerate(zip(words, weights, strict=True)):
            for token in ids:
                if weight > heaviest.get(token, _NOTHING)[0]:
                    heaviest[token] = weight, number
        tokens = numpy_module().fromiter(heaviest, dtype="intp")
        self._learn(tokens)
        shares = self._lengths[tokens] * [weight for weight, _ in heaviest.values()]
        owners = numpy_module().array([number for _, number in heaviest.values()], dtype="intp")
        if len(tokens) > MOST_ASKED:
            kept = numpy_module().sort(numpy_module().argsort(-shares, kind="stable")[:MOST_ASKED])
            tokens, shares, owners = tokens[kept], shares[kept], owners[kept]
        return Asked(tokens, shares / max(shares.sum(), _TINY), owners)

    def lengths(self, texts: Sequence[bytes]) -> NDArray[np.intp]:
        """How many tokens each packed text has."""
        found: NDArray[np.intp] = numpy_module().array([len(text) for text in texts], dtype="intp")
        return found // int(self._stored_type[-1])

    def nearest(self, asked: Asked, texts: Sequence[bytes]) -> NDArray[np.float32]:
        """For each token asked and each packed text the cosine of the nearest token, 0..1: (2, tokens, texts).

        First of the best stretch, then of the whole text.

        Raises ValueError where a text is not what `packed` makes.
        """
        tokens = asked.tokens
        said = numpy_module().frombuffer(b"".join(texts), self._stored_type)
        # Texts before tokens: what is compared of a text then lies together, a fifth quicker than the other way.
        found: NDArray[np.float32] = numpy_module().zeros((2, len(texts), len(tokens)), dtype="float32")
        if len(tokens) and len(said):
            every = said.astype("intp")  # once: numpy would do it for each use as an index
            if every.max() >= len(self._known):
                raise ValueError("the index holds tokens that the model does not have")
            used, places = self._each_once(every)
            cosines = dot_product_matrix(self._numbers(used), self._numbers(tokens)).take(places, axis=0)
            lengths = self.lengths(texts)
            filled = lengths.nonzero()[0]
            found[0, filled], found[1, filled] = _nearest(cosines, lengths[filled], asked.shares)
            numpy_module().minimum(numpy_module().maximum(found, 0, out=found), _SCALE**2, out=found)
            found *= 1 / _SCALE**2
        return found.transpose(0, 2, 1)

    def _each_once(self, ids: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The ids, each once, and for each of `ids` its place among those: `unique`, in a tenth of its time."""
        places = numpy_module().arange(len(ids))
        last_said = numpy_module().empty(len(self._known), dtype="intp")
        last_said[ids] = places
        last = last_said.take(ids)
        chosen = (last == places).nonzero()[0]
        places[chosen] = numpy_module().arange(len(chosen))
        return ids.take(chosen), places.take(last)

    def _numbers(self, ids: NDArray[np.intp]) -> NDArray[np.int8]:
        """The directions of tokens, (len(ids), COMPARED)."""
        self._learn(ids)
        found: NDArray[np.int8] = self._directions.take(ids, axis=0)
        return found

    def _learn(self, ids: NDArray[np.integer]) -> None:
        """Work out the directions of tokens not met before. Two threads may do it at once: both find the same."""
        known = self._known.take(ids)
        if known.all():
            return
        fresh = ids[~known]
        rows = self._table.rows(fresh)
        self._lengths[fresh] = numpy_module().sqrt(numpy_module().einsum("ij,ij->i", rows, rows))
        directions = units(rows[:, : self._directions.shape[1]].copy())
        directions *= _SCALE
        self._directions[fresh] = (
            numpy_module().rint(directions, out=directions).clip(-127, 127, out=directions)
        )
        self._known[fresh] = True


def _nearest(
    cosines: NDArray[np.int32], lengths: NDArray[np.intp], shares: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each text and each token asked the largest cosine, of the best stretch and of all: (texts, tokens) each.

    `cosines` (tokens of all texts, tokens asked) are of texts of `lengths` tokens, none empty. The best stretch is that
    of the largest cosines by the tokens' shares; stretches overlap by half.
    """
    step = STRETCH // 2
    halves = -(-lengths // step)
    ends = halves.cumsum()
    first = ends - halves  # of each text, among the halves of all
    starts = lengths.cumsum() - lengths
    places = (starts - step * first).repeat(halves) + step * numpy_module().arange(ends[-1])
    nearest: NDArray[np.int32] = numpy_module().maximum.reduceat(cosines, places, axis=0)
    if len(places) == len(lengths):
        return nearest, nearest
    stretches = nearest.copy()
    numpy_module().maximum(nearest[:-1], nearest[1:], out=stretches[:-1])
    last = ends - 1  # what follows it is of another text
    stretches[last] = nearest[last]
    worth = stretches @ shares
    owners = numpy_module().arange(len(lengths)).repeat(halves)
    best = (worth == numpy_module().maximum.reduceat(worth, first)[owners]).nonzero()[0][::-1]
    chosen = numpy_module().empty(len(lengths), dtype="intp")
    chosen[owners[best]] = best  # of equal ones the first
    return stretches.take(chosen, axis=0), numpy_module().maximum.reduceat(nearest, first, axis=0)
