"""Choose the pairs of entries to assess: those with near vectors or with rare words in common."""

from __future__ import annotations

from engram.domain.similarity.equivalence import NEAR
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from engram.adapters.index.catalog import Text
    from engram.adapters.index.index import Generation
    from engram.adapters.index.nearest_pairs import Found, Terms

_CANDIDATE_COSINE = 0.75  # from this cosine, entries of one category are candidates whatever their words
_MIN_COSINE = 0.2  # below it, entries that share rare words are not candidates
# The cosine that one unit of shared rare words is worth, if not all pairs can be assessed.
_WORD_SHARE = 0.04
_BASE_PAIRS, _ENTRIES_PER_PAIR = 1000, 100  # pairs to assess, plus one for every 100 entries
_PAIRS_PER_CHANGED = 10  # limit for each entry that changed
_PAIRS_PER_ENTRY = 6  # the most promising ones, unless the other entry has few
_WORD_CANDIDATES = 20  # pairs that share words, for each pair to assess, before their cosine is known

Places = tuple[int, int]


def candidates(
    generation: Generation, texts: Sequence[Text], terms: Terms, fresh: numpy.ndarray
) -> list[Places]:
    """Return pairs of places in `texts`, the lower first, at least one of which is `fresh` (a mask).

    They are all pairs with equal texts, all of one category that are near enough to fold, and the most promising others.
    Of entries with the same text only the first is compared with others.
    """
    from engram.adapters.index import nearest_pairs

    limit = min(_BASE_PAIRS + len(texts) // _ENTRIES_PER_PAIR, _PAIRS_PER_CHANGED * int(fresh.sum()))
    duplicates, distinct = _exact_duplicates(texts)
    vectors = None
    if generation.vectors is not None:
        rows = [text.row for text in texts]
        vectors = generation.vectors.wholes(rows, generation.next_row, generation.next_slot)
    by_words = _best(nearest_pairs.find_by_words(_mask(terms, distinct), fresh), _WORD_CANDIDATES * limit)
    cosines = _cosines(vectors, by_words.one, by_words.other)
    kept = cosines >= _MIN_COSINE
    promise = cosines[kept] + _WORD_SHARE * by_words.nearness[kept]
    found = [nearest_pairs.Found(by_words.one[kept], by_words.other[kept], promise)]
    nearest: list[Places] = []
    if vectors is not None:
        for members in _by_category(texts, distinct):
            part = nearest_pairs.find_by_vectors(vectors[members], _CANDIDATE_COSINE, fresh[members])
            part = nearest_pairs.Found(members[part.one], members[part.other], part.nearness)
            nearest += _places(part, part.nearness >= NEAR)
            found.append(part)
    chosen = [*(pair for pair in duplicates if fresh[[*pair]].any()), *nearest]
    return [*dict.fromkeys([*chosen, *_promising(found, len(texts), limit)])]


def _promising(found: Sequence[Found], count: int, limit: int) -> list[Places]:
    """Return the most promising pairs, each once, the best first."""
    from engram.adapters.index.nearest_pairs import Found
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    every = Found(*(np.concatenate(column) for column in zip(*found, strict=True)))
    order = np.argsort(-every.nearness, kind="stable")
    _, firsts = np.unique((every.one * count + every.other)[order], return_index=True)
    order = order[np.sort(firsts)]
    ranks = np.minimum(_ranks(every.one[order]), _ranks(every.other[order]))
    return _places(every, order[ranks < _PAIRS_PER_ENTRY][:limit])


def _ranks(entries: numpy.ndarray) -> numpy.ndarray:
    """Return for each element the number of equal elements before it."""
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    order = np.argsort(entries, kind="stable")
    starts = np.flatnonzero(np.diff(entries[order], prepend=-1))
    ranks: numpy.ndarray = np.empty(len(entries), np.int64)
    ranks[order] = np.arange(len(entries)) - np.repeat(starts, np.diff(starts, append=len(entries)))
    return ranks


def _best(found: Found, limit: int) -> Found:
    """Return the `limit` nearest pairs."""
    from engram.adapters.index.nearest_pairs import Found
    from engram.adapters.numeric import numpy_module

    if len(found.one) <= limit:
        return found
    best = numpy_module().argpartition(-found.nearness, limit)[:limit]
    return Found(*(column[best] for column in found))


def _places(found: Found, which: numpy.ndarray) -> list[Places]:
    return [*zip(found.one[which].tolist(), found.other[which].tolist(), strict=True)]


def _exact_duplicates(texts: Sequence[Text]) -> tuple[list[Places], list[bool]]:
    """Pair each entry with the oldest of the same text and category; also return a mask of the entries without an older one."""
    first: dict[tuple[str, str], int] = {}
    duplicates, distinct = [], []
    for place, text in enumerate(texts):
        older = first.setdefault((text.category, text.text_digest), place)
        distinct.append(older == place)
        if older != place:
            duplicates.append((older, place))
    return duplicates, distinct


def _by_category(texts: Sequence[Text], distinct: Sequence[bool]) -> list[numpy.ndarray]:
    from engram.adapters.numeric import numpy_module

    members: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if distinct[place]:
            members.setdefault(text.category, []).append(place)
    return [numpy_module().array(places) for places in members.values()]


def _mask(terms: Terms, distinct: Sequence[bool]) -> Terms:
    """Return the terms without those of exact duplicates."""
    from engram.adapters.index.nearest_pairs import Terms
    from engram.adapters.numeric import numpy_module

    if all(distinct):
        return terms
    np = numpy_module()
    sizes = np.diff(terms.starts)
    kept = np.array(distinct)
    starts = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))])
    return Terms(starts, terms.terms[np.repeat(kept, sizes)])


def _cosines(vectors: numpy.ndarray | None, one: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    """Return the cosine of each pair; 1 without vectors, so that words alone decide."""
    from engram.adapters.numeric import numpy_module

    if vectors is None:
        return numpy_module().ones(len(one))  # type: ignore[no-any-return]
    blocks = [slice(start, start + 65_536) for start in range(0, len(one), 65_536)]
    parts = [
        numpy_module().einsum("ij,ij->i", vectors[one[block]], vectors[other[block]]) for block in blocks
    ]
    return numpy_module().concatenate(parts) if parts else numpy_module().zeros(0)  # type: ignore[no-any-return]
