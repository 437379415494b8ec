"""Which pairs of a store's lore are worth a close look: near by their vectors, or sharing words that few others say."""

from __future__ import annotations

from engram.domain.similarity.equivalence import NEAR
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from engram.adapters.index.catalog import Text
    from engram.adapters.index.generation import Generation
    from engram.adapters.index.near import Found, Terms

FLOOR = 0.75  # the cosine from which two lore of one category are candidates whatever their words
_LEAST = 0.2  # the cosine below which two lore that share rare words are none
_WORD_SHARE = (
    0.04  # what one unit of shared rare words counts for against cosine, where not all can be looked at
)
_CLOSE_LOOKS, _EVERY = 1000, 100  # so many pairs are looked at, and one more for every so many lore
_FOR_EACH = 10  # and so many at most for each lore that changed
_EACH = 6  # of a lore's candidates the most promising ones, unless the other lore has few
_BY_WORDS = 20  # times as many are taken from those that share words, before their cosine is known

Places = tuple[int, int]


def candidates(
    generation: Generation, texts: Sequence[Text], terms: Terms, fresh: numpy.ndarray
) -> list[Places]:
    """Pairs of places in `texts`, lower first, of which one at least is `fresh` (a mask).

    All with equal texts, all of one category that are as near as what folds by itself, and of the others the most
    promising. Of several lore with the same text only the first is compared with others.
    """
    from engram.adapters.index import near

    most = min(_CLOSE_LOOKS + len(texts) // _EVERY, _FOR_EACH * int(fresh.sum()))
    twins, alone = _twins(texts)
    vectors = None
    if generation.vectors is not None:
        rows = [text.row for text in texts]
        vectors = generation.vectors.wholes(rows, generation.next_row, generation.next_slot)
    by_words = _best(near.by_words(_masked(terms, alone), fresh), _BY_WORDS * most)
    cosines = _cosines(vectors, by_words.one, by_words.other)
    kept = cosines >= _LEAST
    promise = cosines[kept] + _WORD_SHARE * by_words.nearness[kept]
    found = [near.Found(by_words.one[kept], by_words.other[kept], promise)]
    nearest: list[Places] = []
    if vectors is not None:
        for members in _by_category(texts, alone):
            part = near.by_vectors(vectors[members], FLOOR, fresh[members])
            part = near.Found(members[part.one], members[part.other], part.nearness)
            nearest += _places(part, part.nearness >= NEAR)
            found.append(part)
    chosen = [*(pair for pair in twins if fresh[[*pair]].any()), *nearest]
    return [*dict.fromkeys([*chosen, *_promising(found, len(texts), most)])]


def _promising(found: Sequence[Found], count: int, most: int) -> list[Places]:
    """The pairs that promise most, each once, the best first."""
    from engram.adapters.index.near import Found
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    every = Found(*(np.concatenate(column) for column in zip(*found, strict=True)))
    order = np.argsort(-every.nearness, kind="stable")
    _, firsts = np.unique((every.one * count + every.other)[order], return_index=True)
    order = order[np.sort(firsts)]
    ranks = np.minimum(_ranks(every.one[order]), _ranks(every.other[order]))
    return _places(every, order[ranks < _EACH][:most])


def _ranks(lore: numpy.ndarray) -> numpy.ndarray:
    """For each entry how many equal ones stand before it."""
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    order = np.argsort(lore, kind="stable")
    starts = np.flatnonzero(np.diff(lore[order], prepend=-1))
    ranks: numpy.ndarray = np.empty(len(lore), np.int64)
    ranks[order] = np.arange(len(lore)) - np.repeat(starts, np.diff(starts, append=len(lore)))
    return ranks


def _best(found: Found, most: int) -> Found:
    """The nearest of many pairs."""
    from engram.adapters.index.near import Found
    from engram.adapters.numeric import numpy_module

    if len(found.one) <= most:
        return found
    best = numpy_module().argpartition(-found.nearness, most)[:most]
    return Found(*(column[best] for column in found))


def _places(found: Found, which: numpy.ndarray) -> list[Places]:
    return [*zip(found.one[which].tolist(), found.other[which].tolist(), strict=True)]


def _twins(texts: Sequence[Text]) -> tuple[list[Places], list[bool]]:
    """Each lore with the text and category of an older one, paired with that; and which lore are no such twin."""
    first: dict[tuple[str, str], int] = {}
    twins, alone = [], []
    for place, text in enumerate(texts):
        older = first.setdefault((text.category, text.said), place)
        alone.append(older == place)
        if older != place:
            twins.append((older, place))
    return twins, alone


def _by_category(texts: Sequence[Text], alone: Sequence[bool]) -> list[numpy.ndarray]:
    from engram.adapters.numeric import numpy_module

    members: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if alone[place]:
            members.setdefault(text.category, []).append(place)
    return [numpy_module().array(places) for places in members.values()]


def _masked(terms: Terms, alone: Sequence[bool]) -> Terms:
    """The terms without those of twins, whose text is that of another."""
    from engram.adapters.index.near import Terms
    from engram.adapters.numeric import numpy_module

    if all(alone):
        return terms
    np = numpy_module()
    sizes = np.diff(terms.starts)
    kept = np.array(alone)
    starts = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))])
    return Terms(starts, terms.terms[np.repeat(kept, sizes)])


def _cosines(vectors: numpy.ndarray | None, one: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    """The cosine of each pair; 1 where there are no vectors, and words alone have to do."""
    from engram.adapters.numeric import numpy_module

    if vectors is None:
        return numpy_module().ones(len(one))  # type: ignore[no-any-return]
    blocks = [slice(start, start + 65_536) for start in range(0, len(one), 65_536)]
    parts = [
        numpy_module().einsum("ij,ij->i", vectors[one[block]], vectors[other[block]]) for block in blocks
    ]
    return numpy_module().concatenate(parts) if parts else numpy_module().zeros(0)  # type: ignore[no-any-return]
