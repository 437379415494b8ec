"""Search without numpy, for the first query of a process: importing numpy takes longer than the query."""

from __future__ import annotations

import sys
from math import log
from operator import mul

from engram.domain.recall import ranking
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.recall import rerank
from engram.usecases.recall.relevance import Relevance
from engram.usecases.recall.rerank import Neighbours, TokenMatch, TokenQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.embed.late_interaction import PlainNearness
    from engram.adapters.embed.protocols import Embedder, PlainModel
    from engram.adapters.index.index import Generation
    from engram.adapters.index.plain_cosines import PlainCosines
    from engram.adapters.index.words import WordHits

MOST_VECTORS = 100_000  # which take some 15 ms; with more of them numpy pays off
MOST_TOKENS = 40_000  # of the texts to rerank
_TINY = 1e-9


def plain_model(embedder: Embedder, generation: Generation) -> PlainModel | None:
    """Return the model that needs no numpy; None where numpy is loaded already, or faster."""
    if "numpy" in sys.modules or generation.next_slot > MOST_VECTORS or sys.byteorder != "little":
        return None
    if generation.vectors is None or generation.vectors.graph_file is not None:  # the graph needs numpy
        return None
    return embedder.without_numpy()


class PlainRelevance(Relevance):
    """The relevance of rows by words and cosines, in lists."""

    def __init__(
        self, found: WordHits, cosines: PlainCosines, allowed: set[int] | None, weight: float
    ) -> None:
        """Compute nothing yet."""
        super().__init__(found, None, allowed, weight)
        self._near = cosines

    def _cosines_of(self, rows: Sequence[int]) -> list[float]:
        return self._near.of(rows)

    def _order(self, count: int) -> tuple[list[int], list[float]]:
        scores, allowed, near = self._found.scores, self._allowed, self._near
        if allowed is None:
            rows = [row for row in scores if row < near.rows]
            others = near.largest(count)
        else:
            rows = [row for row in scores if row < near.rows and row in allowed]
            others = [row for row in allowed if row < near.rows]
        rows += [row for row in others if row not in scores]
        values = [
            max(cosine, 0.0) + self._weight * self._coverage(row) ** ranking.SHARPNESS
            for row, cosine in zip(rows, near.of(rows), strict=True)
        ]
        order = sorted(range(len(rows)), key=lambda at: -values[at])[:count]
        return [rows[at] for at in order], [values[at] / (1 + self._weight) for at in order]


def match_tokens(
    model: PlainModel, query: TokenQuery, generation: Generation, near: Neighbours, rows: Sequence[int]
) -> Mapping[int, TokenMatch]:
    """Match the tokens of rows and their neighbours with the query as `rerank` does. Raises ValueError, sqlite3.Error."""
    read = list(dict.fromkeys([*rows, *(other for row in rows for other in near.get(row, ()))]))
    tokens = generation.catalog.tokens(read)
    texts = [tokens.get(row, b"") for row in read]
    if sum(map(len, texts)) > 2 * MOST_TOKENS:
        return rerank.match_tokens(query, generation, near, rows)
    words = rerank.words_of(query.text)
    weighed = query.word_index.weigh(words, query.found)
    match = model.nearness(words, [weight for weight, _ in weighed], texts)
    if not match.shares:  # the model knows no word of the query: all of it is missing
        return dict.fromkeys(rows, TokenMatch(0.0, 1.0)) if any(texts) else {}
    place = {row: place for place, row in enumerate(read)}
    missing = _Missing(match, words, weighed)
    found = {}
    for at, row in enumerate(rows):
        others = near.get(row, {})
        stretch, whole = match.stretch[at], match.whole[at]
        for other, share in others.items():
            stretch = _larger_of(stretch, match.stretch[place[other]], share)
            whole = _larger_of(whole, match.whole[place[other]], share)
        length = match.lengths[at]
        total = length + sum([match.lengths[place[other]] for other in others])
        closest = sum(map(mul, match.shares, stretch)) - rerank.NEAR_BY_CHANCE * _log_length(total)
        lacking = missing.of(whole) + rerank.MISSING_BY_CHANCE * min(_log_length(length), 0.0)
        found[row] = TokenMatch(min(max(closest, 0.0), 1.0), lacking)
    return found


def _larger_of(one: Sequence[float], other: Sequence[float], share: float) -> list[float]:
    return [max(mine, share * theirs) for mine, theirs in zip(one, other, strict=True)]


def _log_length(length: int) -> float:
    return log(max(length, rerank.SHORTEST) / rerank.LONG)


class _Missing:
    """What texts lack of the words of a query; see `rerank`."""

    def __init__(
        self, match: PlainNearness, words: Sequence[str], weighed: Sequence[tuple[float, bool]]
    ) -> None:
        self._match = match
        of_word, pieces = [0.0] * len(words), [0] * len(words)
        for share, word in zip(match.shares, match.words, strict=True):
            of_word[word] += share
            pieces[word] += 1
        is_stop_word = [word.lower() in STOP_WORDS for word in words]
        if not all(is_stop_word):
            weights = [weight * (not stop) for (weight, _), stop in zip(weighed, is_stop_word, strict=True)]
        else:
            weights = [weight for weight, _ in weighed]
        total = max(sum(weights), _TINY)
        misspelt = [is_misspelt for _, is_misspelt in weighed]
        if any(wrong and count > 1 for wrong, count in zip(misspelt, pieces, strict=True)):
            weights = [weight * (not wrong) for weight, wrong in zip(weights, misspelt, strict=True)]
        self._factors = [
            min(weight / total, rerank.MOST_MISSING) / max(own, _TINY)
            for weight, own in zip(weights, of_word, strict=True)
        ]

    def of(self, nearest: Sequence[float]) -> float:
        """Return the largest share of one word that a text lacks, 0..1, by the similarities of its nearest tokens."""
        far = [0.0] * len(self._factors)
        for share, word, near in zip(self._match.shares, self._match.words, nearest, strict=True):
            far[word] += share * (1 - near)
        most: float = max(map(mul, far, self._factors))
        return most
