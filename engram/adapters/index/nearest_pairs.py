"""Pairs of texts near each other: by their vectors, block by block, and by shared rare words."""

from __future__ import annotations

from engram.adapters.numeric import numpy_module
from engram.domain.similarity.pairs import rarity
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy

_BLOCK = 1024
_MOST_NEIGHBOURS = 16  # of a text: a thousand similar texts must not make half a million pairs
_MOST_JOINED = 60  # pairs by shared words for each text, the rarest words first
_COMMON = 10  # words in more than a tenth of the texts (and in more than this many) are ignored
_LEAST_WEIGHT = 4.0  # of shared words: one very rare word, or two rather rare ones


class Found(NamedTuple):
    """Pairs of positions, `one` < `other`, each pair once, in order, and the nearness of each."""

    one: numpy.ndarray
    other: numpy.ndarray
    nearness: numpy.ndarray


class Terms(NamedTuple):
    """The terms of texts: those of text i are `terms[starts[i]:starts[i + 1]]`, as numbers without duplicates."""

    starts: numpy.ndarray
    terms: numpy.ndarray


def find_by_vectors(vectors: numpy.ndarray, floor: float, fresh: numpy.ndarray) -> Found:
    """Return pairs of rows with a cosine of at least `floor`, at least one of them `fresh` (a mask)."""
    np = numpy_module()
    chosen, count = np.flatnonzero(fresh), len(vectors)
    keys, nearness = [], []
    for start in range(0, len(chosen), _BLOCK):
        block = chosen[start : start + _BLOCK]
        cosines = vectors[block] @ vectors.T
        cosines[np.arange(len(block)), block] = -1
        _keep_nearest(cosines, floor)
        rows, others = np.nonzero(cosines >= floor)
        keys.append(np.minimum(block[rows], others) * count + np.maximum(block[rows], others))
        nearness.append(cosines[rows, others])
    if not keys:
        return _none()
    pairs, places = np.unique(np.concatenate(keys), return_index=True)
    return Found(pairs // count, pairs % count, np.concatenate(nearness)[places])


def find_by_words(texts: Terms, fresh: numpy.ndarray) -> Found:
    """Return pairs of texts that share rare words, at least one of them `fresh`.

    The nearness is the weight of the shared words relative to the number of words: long texts share much by chance.
    """
    np = numpy_module()
    count = len(texts.starts) - 1
    owners, terms = np.repeat(np.arange(count), np.diff(texts.starts)), texts.terms
    if not fresh.all():
        is_in_fresh = np.isin(terms, np.unique(terms[fresh[owners]]))
        owners, terms = owners[is_in_fresh], terms[is_in_fresh]
    order = np.argsort(terms, kind="stable")
    owners = owners[order]
    _, starts, sizes = np.unique(terms[order], return_index=True, return_counts=True)
    wanted = (sizes > 1) & (sizes <= max(_COMMON, count // _COMMON))
    starts, sizes = starts[wanted], sizes[wanted]
    rarest = np.argsort(sizes, kind="stable")
    pair_counts = np.cumsum(sizes[rarest].astype(np.int64) * (sizes[rarest] - 1) // 2)
    rarest = rarest[pair_counts <= max(100_000, _MOST_JOINED * count)]
    keys, weights = [], []
    for size in np.flatnonzero(np.bincount(sizes[rarest])):  # all words of one frequency at once
        members = owners[starts[rarest][sizes[rarest] == size][:, None] + np.arange(size)]
        for gap in range(1, int(size)):
            one, other = members[:, :-gap].ravel(), members[:, gap:].ravel()
            has_fresh = fresh[one] | fresh[other]
            keys.append(one[has_fresh].astype(np.int64) * count + other[has_fresh])
            weights.append(np.full(int(has_fresh.sum()), rarity(int(size), count), np.float32))
    if not keys:
        return _none()
    pairs, place = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(place.ravel(), np.concatenate(weights)).astype(np.float32)
    is_near = total >= _LEAST_WEIGHT
    one, other = pairs[is_near] // count, pairs[is_near] % count
    lengths = np.diff(texts.starts)
    return Found(one, other, total[is_near] / np.sqrt(lengths[one] * lengths[other]))


def frequencies(texts: Terms) -> dict[int, int]:
    """Return the number of texts with each term."""
    terms, counts = numpy_module().unique(texts.terms, return_counts=True)
    return dict(zip(terms.tolist(), counts.tolist(), strict=True))


def _keep_nearest(cosines: numpy.ndarray, floor: float) -> None:
    """Blank all but the nearest neighbours in rows that have too many."""
    numpy = numpy_module()
    for row in numpy.flatnonzero((cosines >= floor).sum(axis=1) > _MOST_NEIGHBOURS):
        least = numpy.partition(cosines[row], -_MOST_NEIGHBOURS)[-_MOST_NEIGHBOURS]
        cosines[row][cosines[row] < least] = -1


def _none() -> Found:
    numpy = numpy_module()
    empty = numpy.zeros(0, numpy.int64)
    return Found(empty, empty, numpy.zeros(0, numpy.float32))
