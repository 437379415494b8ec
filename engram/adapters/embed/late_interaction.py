"""Late interaction: the nearness of the tokens of texts to each token of a query, by the vectors of single tokens.

MaxSim as in ColBERT (Khattab/Zaharia 2020), over static token vectors: for each query token the cosine of the text's
nearest token. The vector of a whole text says what it is about; this says whether it has each part of the query, and
whether it has them in one place.
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# The first dimensions carry most information (Matryoshka training, PCA): 128 were measured to be no worse than 256.
COMPARED = 128
MAX_QUERY_TOKENS = 48
MAX_STORED_TOKENS = 2048
STRETCH = 48  # tokens, about two sentences: an answer is in one place
TWO_BYTE_IDS = 65_536  # token ids that fit into two bytes
_NOTHING = (0.0, 0)
TINY = 1e-9
SCALE = 224.0  # 127 stands for 0.567, which few numbers of a unit vector exceed


class PlainNearness(NamedTuple):
    """For each text and query token the cosine of the nearest token, 0..1: in the best `stretch`, and in the `whole` text.

    `shares` are those of the query's tokens (1 in all), `words` the numbers of their words, `lengths` those of the texts
    in tokens.
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
