"""The second look at the best rows: how near their tokens come to each thing asked, their neighbours' tokens included.

The neighbours of a lore are those that it names as belonging to it or that name it, one or two steps away: the turns
of a conversation before and after, the parts of one document.
"""

from __future__ import annotations

import re

from engram.adapters.numeric import numpy_module
from engram.domain.entry.lore import ACTIVE
from engram.domain.recall.ranking import FAR_NEIGHBOUR, NEAR_NEIGHBOUR
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy import float32
    from numpy.typing import NDArray

    from engram.adapters.embed.late_interaction import Asked as Tokens
    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.generation import Generation
    from engram.adapters.index.words import WordHits, Words

    Floats = NDArray[float32]

MOST_NEIGHBOURS = 8  # of one lore, at each distance: those of the smallest ids, the same on every machine
MOST_MISSING = 0.5  # the share that one word has at most: of two or three words, each is much
NEAR_BY_CHANCE = 0.03  # how much nearer a text comes to anything where it is e times as long
MISSING_BY_CHANCE = 0.06  # how much less is missing of it, as long as it is not LONG
LONG = 110  # tokens
_TINY = 1e-9
_SHORTEST = 8  # tokens
_WORD = re.compile(r"[^\W_]+")


class Closer(NamedTuple):
    """How near a lore comes to what was asked, 0..1, and the share of the word that it is farthest from, by how far.

    Both allow for the length of what was looked at: the more words there are, the nearer one of them is by chance.
    """

    near: float
    missing: float


Neighbours = dict[int, dict[int, float]]
"""For each row the rows that speak for it, and how much of what they say counts."""


def neighbours(generation: Generation, rows: Sequence[int]) -> Neighbours:
    """The neighbours of rows; of a store in which no lore names another there are none."""
    if not generation.has_links:
        return {}
    direct = _steps(generation, rows)
    further = _steps(generation, sorted({other for near in direct.values() for other in near} - set(rows)))
    further |= direct
    found: Neighbours = {}
    for row, near in direct.items():
        far = [other for step in near for other in further.get(step, ())][: MOST_NEIGHBOURS * 2]
        found[row] = {other: FAR_NEIGHBOUR for other in far if other != row} | dict.fromkeys(
            near, NEAR_NEIGHBOUR
        )
    return found


class Asked(NamedTuple):
    """What looks again, for what: the model, the index of words, the text of the question, and what its words found."""

    embedder: Embedder
    word_index: Words
    text: str
    found: WordHits


def look(asked: Asked, generation: Generation, near: Neighbours, rows: Sequence[int]) -> dict[int, Closer]:
    """What the tokens of `rows` and their neighbours say; nothing where the model knows no single tokens.

    Raises ValueError where the index holds what are no tokens, sqlite3.Error.
    """
    read = list(dict.fromkeys([*rows, *(other for row in rows for other in near.get(row, ()))]))
    tokens = generation.catalog.tokens(read)
    said = [tokens.get(row, b"") for row in read]
    words = _words(asked.text)
    weighed = asked.word_index.weigh(words, asked.found)
    weights = [weight for weight, _ in weighed]
    match = asked.embedder.nearness(words, weights, said)
    if match is None:
        return {}
    if not len(match.asked.shares):  # nothing asked is a word that the model knows: all of it is missing
        return dict.fromkeys(rows, Closer(0.0, 1.0)) if any(said) else {}
    place = {row: place for place, row in enumerate(read)}
    together, anywhere = _with_neighbours(match.nearest, place, near, rows)
    numpy = numpy_module()
    shares = match.asked.shares[:, None]
    lengths = match.lengths.tolist()
    every = [
        lengths[at] + sum([lengths[place[one]] for one in near.get(row, ())]) for at, row in enumerate(rows)
    ]
    closest = (shares * together).sum(axis=0, dtype=numpy.float64) - NEAR_BY_CHANCE * _longer(every)
    missing = _missing(match.asked, anywhere, words, weighed)
    missing += MISSING_BY_CHANCE * numpy.minimum(_longer(lengths[: len(rows)]), 0.0)
    return dict(zip(rows, map(Closer, closest.clip(0.0, 1.0).tolist(), missing.tolist()), strict=True))


def _longer(lengths: Sequence[int]) -> Floats:
    """How much longer texts of so many tokens are than LONG, as a logarithm: below 0 for shorter ones."""
    numpy = numpy_module()
    longer: Floats = numpy.log(numpy.maximum(lengths, _SHORTEST) / LONG)
    return longer


def _missing(
    asked: Tokens, nearest: Floats, words: Sequence[str], weighed: Sequence[tuple[float, bool]]
) -> Floats:
    """For each row the share of the word that it is farthest from, times how far: 0..1, (rows,).

    Of a misspelt word nothing is known: it is not missing. Where the model knows all those words whole, none is
    misspelt. Words like "how" are not missing either, unless nothing else was asked.
    """
    numpy = numpy_module()
    far = numpy.zeros((len(weighed), nearest.shape[1]))
    numpy.add.at(far, asked.words, asked.shares[:, None] * (1 - nearest))
    of_word = numpy.bincount(asked.words, asked.shares, len(weighed))
    said = numpy.array([word.lower() not in STOP_WORDS for word in words])
    weights = numpy.array([weight for weight, _ in weighed]) * (said if said.any() else 1)
    misspelt = numpy.array([wrong for _, wrong in weighed])
    in_pieces = numpy.bincount(asked.words, minlength=len(weighed)) > 1
    share = (weights * ~misspelt if (misspelt & in_pieces).any() else weights) / max(weights.sum(), _TINY)
    numpy.minimum(share, MOST_MISSING, out=share)
    found: Floats = (far * (share / numpy.maximum(of_word, _TINY))[:, None]).max(axis=0)
    return found


def _with_neighbours(
    nearest: Floats, place: Mapping[int, int], near: Neighbours, rows: Sequence[int]
) -> Floats:
    """For each token asked and each of `rows` the nearest that it or, counting less, a neighbour says."""
    numpy = numpy_module()
    own: Floats = nearest[..., : len(rows)]
    if near:
        own = own.copy()
        for row in rows:
            for other, share in near.get(row, {}).items():
                column = own[..., place[row]]
                numpy.maximum(column, share * nearest[..., place[other]], out=column)
    return own


def _steps(generation: Generation, rows: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for link in generation.catalog.linked(rows):
        step = found.setdefault(link.row, [])
        known = link.other in step or link.other == link.row
        if link.status == ACTIVE and not known and len(step) < MOST_NEIGHBOURS:
            step.append(link.other)
    return found


def _words(text: str) -> list[str]:
    """The words of a question, each once."""
    words: Iterable[str] = _WORD.findall(text)
    return list(dict.fromkeys(words))
