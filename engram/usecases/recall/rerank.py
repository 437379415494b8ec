"""Rerank the best rows by late interaction: the similarity of their and their neighbours' tokens to the query's.

The neighbours of an entry are those it is related to in either direction, one or two steps away: the turns of a
conversation before and after, the parts of one document.
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

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.embed.table import QueryTokens
    from engram.adapters.index.index import Generation
    from engram.adapters.index.words import WordHits, Words

    Floats = NDArray[float32]

MOST_NEIGHBOURS = (
    8  # of one entry at each distance: those with the smallest ids, for the same result on every machine
)
MOST_MISSING = (
    0.5  # the largest share of one word, since in a query of two or three words each has a large share
)
NEAR_BY_CHANCE = 0.03  # what a text gains in nearness to any query by being e times as long
MISSING_BY_CHANCE = 0.06  # how much less it lacks by being so, up to LONG tokens
LONG = 110  # tokens
_TINY = 1e-9
SHORTEST = 8  # tokens
_WORD = re.compile(r"[^\W_]+")


class TokenMatch(NamedTuple):
    """An entry's nearness to the query, 0..1, and how much it lacks of the query word that it is farthest from.

    Both are corrected for length: the more words a text has, the nearer one of them is by chance.
    """

    near: float
    missing: float


Neighbours = dict[int, dict[int, float]]
"""For each row its neighbours' rows, and the share of their similarity that counts."""


def neighbours(generation: Generation, rows: Sequence[int]) -> Neighbours:
    """Return the neighbours of rows; none in a store without relations."""
    if not generation.has_links:
        return {}
    direct = _steps(generation, rows)
    links = direct | _steps(
        generation, sorted({other for near in direct.values() for other in near} - set(rows))
    )
    found: Neighbours = {}
    for row, near in direct.items():
        far = [other for step in near for other in links.get(step, ())][: MOST_NEIGHBOURS * 2]
        found[row] = {other: FAR_NEIGHBOUR for other in far if other != row} | dict.fromkeys(
            near, NEAR_NEIGHBOUR
        )
    return found


class TokenQuery(NamedTuple):
    """A query for reranking: model, word index, text and word hits."""

    embedder: Embedder
    word_index: Words
    text: str
    found: WordHits


def match_tokens(
    query: TokenQuery, generation: Generation, near: Neighbours, rows: Sequence[int]
) -> dict[int, TokenMatch]:
    """Match the tokens of `rows` and their neighbours with the query; empty if the model has no token vectors.

    Raises ValueError if the index holds bytes that are not tokens, sqlite3.Error.
    """
    read = list(dict.fromkeys([*rows, *(other for row in rows for other in near.get(row, ()))]))
    tokens = generation.catalog.tokens(read)
    texts = [tokens.get(row, b"") for row in read]
    words = words_of(query.text)
    weighed = query.word_index.weigh(words, query.found)
    match = query.embedder.nearness(words, [weight for weight, _ in weighed], texts)
    if match is None:
        return {}
    if not len(match.query.shares):  # the model knows no word of the query: all of it is missing
        return dict.fromkeys(rows, TokenMatch(0.0, 1.0)) if any(texts) else {}
    place = {row: place for place, row in enumerate(read)}
    stretch, whole = _with_neighbours(match.nearest, place, near, rows)
    numpy = numpy_module()
    shares = match.query.shares[:, None]
    lengths = match.lengths.tolist()
    totals = [
        lengths[at] + sum([lengths[place[other]] for other in near.get(row, ())])
        for at, row in enumerate(rows)
    ]
    closest = (shares * stretch).sum(axis=0, dtype=numpy.float64) - NEAR_BY_CHANCE * _log_length(totals)
    missing = _missing(match.query, whole, words, weighed)
    missing += MISSING_BY_CHANCE * numpy.minimum(_log_length(lengths[: len(rows)]), 0.0)
    return dict(zip(rows, map(TokenMatch, closest.clip(0.0, 1.0).tolist(), missing.tolist()), strict=True))


def _log_length(lengths: Sequence[int]) -> Floats:
    """Return the logarithm of lengths (in tokens) relative to LONG: below 0 for shorter texts."""
    numpy = numpy_module()
    found: Floats = numpy.log(numpy.maximum(lengths, SHORTEST) / LONG)
    return found


def _missing(
    query: QueryTokens, nearest: Floats, words: Sequence[str], weighed: Sequence[tuple[float, bool]]
) -> Floats:
    """Return for each row the share of the query word that it is farthest from, times the distance: 0..1, (rows,).

    A misspelt word is unknown rather than missing, unless the model knows it as a whole. Stop words are never missing,
    unless the query has no other words.
    """
    numpy = numpy_module()
    of_tokens = numpy.zeros((len(weighed), len(query.words)))
    of_tokens[query.words, numpy.arange(len(query.words))] = query.shares
    far = of_tokens @ (1 - nearest)  # numpy's `add.at` takes five times as long
    of_word = numpy.bincount(query.words, query.shares, len(weighed))
    counts = numpy.array([word.lower() not in STOP_WORDS for word in words])
    weights = numpy.array([weight for weight, _ in weighed]) * (counts if counts.any() else 1)
    misspelt = numpy.array([is_misspelt for _, is_misspelt in weighed])
    in_pieces = numpy.bincount(query.words, minlength=len(weighed)) > 1
    share = (weights * ~misspelt if (misspelt & in_pieces).any() else weights) / max(weights.sum(), _TINY)
    numpy.minimum(share, MOST_MISSING, out=share)
    found: Floats = (far * (share / numpy.maximum(of_word, _TINY))[:, None]).max(axis=0)
    return found


def _with_neighbours(
    nearest: Floats, place: Mapping[int, int], near: Neighbours, rows: Sequence[int]
) -> Floats:
    """Return the highest similarity of each query token to a token of each row or, discounted, of its neighbours."""
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


def words_of(text: str) -> list[str]:
    """Return the distinct words of a query."""
    words: Iterable[str] = _WORD.findall(text)
    return list(dict.fromkeys(words))
