"""Late interaction: how near the tokens of texts come to each token of a query, by the vectors of single tokens.

MaxSim as in ColBERT (Khattab/Zaharia 2020), over static token vectors: for each query token the cosine of the text's
nearest token. The vector of a whole text says what it is about; this says whether each part of the query is in it, and
whether all of it is in one place.
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# The first numbers of a vector carry most (Matryoshka training, PCA): comparing 128 was measured to be no worse than 256.
COMPARED = 128
MOST_ASKED = 48
MOST_STORED = 2048
STRETCH = 48  # tokens, about two sentences: the answer has to be in one place
TWO_BYTES = 65_536
_NOTHING = (0.0, 0)
TINY = 1e-9
SCALE = 224.0  # 127 stands for 0.567: hardly any number of a unit vector is larger


class PlainNearness(NamedTuple):
    """The tokens of a query, and for each text and token the cosine of the nearest token, 0..1: `stretch` in the best
    stretch of the text, `whole` in all of it.

    `shares` are those of the tokens (1 in all), `words` the numbers of their words, `lengths` those of the texts in tokens.
    """

    shares: list[float]
    words: list[int]
    stretch: list[list[float]]
    whole: list[list[float]]
    lengths: list[int]


def heaviest_tokens(words: Sequence[Sequence[int]], weights: Sequence[float]) -> dict[int, tuple[float, int]]:
    """Return for each token the weight of its heaviest word and that word's number; `words` are the token ids of each."""
    heaviest: dict[int, tuple[float, int]] = {}
    for number, (ids, weight) in enumerate(zip(words, weights, strict=True)):
        for token in ids:
            if weight > heaviest.get(token, _NOTHING)[0]:
                heaviest[token] = weight, number
    return heaviest
