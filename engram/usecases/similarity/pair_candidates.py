"""The pairs of a store's entries to assess: near by their vectors, or sharing rare words."""

from __future__ import annotations

from engram.domain.similarity.equivalence import NEAR
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from engram.adapters.index.catalog import Text
    from engram.adapters.index.index import Generation
    from engram.adapters.index.nearest_pairs import Found, Terms

FLOOR = 0.75  # from this cosine on two entries of a category are candidates whatever their words
_MIN_COSINE = 0.2  # below it two entries that share rare words are no candidates
# How much cosine one unit of shared rare words counts for, if not all pairs can be assessed.
_WORD_SHARE = 0.04
_BASE_PAIRS, _PER_PAIR = 1000, 100  # pairs to assess, and one more for every so many entries
_PER_CHANGED = 10  # at most so many pairs for each entry that changed
_PER_ENTRY = 6  # the most promising candidates of an entry, unless the other entry has few
_BY_WORDS = 20  # times as many are taken of those that share words, before their cosine is known

Places = tuple[int, int]


def candidates(
    generation: Generation, texts: Sequence[Text], terms: Terms, fresh: numpy.ndarray
) -> list[Places]:
    """Return pairs of places in `texts`, the lower first, at least one of which is `fresh` (a mask).

    That is all pairs with equal texts, all of one category that are near enough to fold, and the most promising others.
    Of several entries with the same text only the first is compared with others.
    """
    from engram.adapters.index import nearest_pairs

    most = min(_BASE_PAIRS + len(texts) // _PER_PAIR, _PER_CHANGED * int(fresh.sum()))
    duplicates, distinct = _exact_duplicates(texts)
    vectors = None
    if generation.vectors is not None:
        rows = [text.row for text in texts]
        vectors = generation.vectors.wholes(rows, generation.next_row, generation.next_slot)
    by_words = _best(nearest_pairs.by_words(_mask(terms, distinct), fresh), _BY_WORDS * most)
    cosines = _cosines(vectors, by_words.one, by_words.other)
    kept = cosines >= _MIN_COSINE
    promise = cosines[kept] + _WORD_SHARE * by_words.nearness[kept]
    found = [nearest_pairs.Found(by_words.one[kept], by_words.other[kept], promise)]
    nearest: list[Places] = []
    if vectors is not None:
        for members in _by_category(texts, distinct):
            part = nearest_pairs.by_vectors(vectors[members], FLOOR, fresh[members])
            part = nearest_pairs.Found(members[part.one], members[part.other], part.nearness)
            nearest += _places(part, part.nearness >= NEAR)
            found.append(part)
    chosen = [*(pair for pair in duplicates if fresh[[*pair]].any()), *nearest]
    return [*dict.fromkeys([*chosen, *_promising(found, len(texts), most)])]


def _promising(found: Sequence[Found], count: int, most: int) -> list[Places]:
    """Return the most promising pairs, each once, the best first."""
    from engram.adapters.index.nearest_pairs import Found
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    every = Found(*(np.concatenate(column) for column in zip(*found, strict=True)))
    order = np.argsort(-every.nearness, kind="stable")
    _, firsts = np.unique((every.one * count + every.other)[order], return_index=True)
    order = order[np.sort(firsts)]
    ranks = np.minimum(_ranks(every.one[order]), _ranks(every.other[order]))
    return _places(every, order[ranks < _PER_ENTRY][:most])


def _ranks(entries: numpy.ndarray) -> numpy.ndarray:
    """Return for each element how many equal ones precede it."""
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    order = np.argsort(entries, kind="stable")
    starts = np.flatnonzero(np.diff(entries[order], prepend=-1))
    ranks: numpy.ndarray = np.empty(len(entries), np.int64)
    ranks[order] = np.arange(len(entries)) - np.repeat(starts, np.diff(starts, append=len(entries)))
    return ranks


def _best(found: Found, most: int) -> Found:
    """Return the nearest of many pairs."""
    from engram.adapters.index.nearest_pairs import Found
    from engram.adapters.numeric import numpy_module

    if len(found.one) <= most:
        return found
    best = numpy_module().argpartition(-found.nearness, most)[:most]
    return Found(*(column[best] for column in found))


def _places(found: Found, which: numpy.ndarray) -> list[Places]:
    return [*zip(found.one[which].tolist(), found.other[which].tolist(), strict=True)]


def _exact_duplicates(texts: Sequence[Text]) -> tuple[list[Places], list[bool]]:
    """Pair each entry with the oldest of the same text and category; also return a mask of the entries without one."""
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
