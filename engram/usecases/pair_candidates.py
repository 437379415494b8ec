"""Which pairs of a store's lore are worth a close look: near by their vectors, or sharing words that few others say."""

from __future__ import annotations

from engram.domain.equivalence import NEAR
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from engram.adapters.index.catalog import Text
    from engram.adapters.index.generation import Generation
    from engram.adapters.index.near import Terms

FLOOR = 0.75  # the cosine from which two lore of one category are candidates whatever their words
_LEAST = 0.2  # the cosine below which two lore that share rare words are none
_WORD_SHARE = (
    0.04  # what one unit of shared rare words counts for against cosine, where not all can be looked at
)
_CLOSE_LOOKS, _EVERY = 1000, 20  # so many pairs are looked at, and one more for every so many lore

Places = tuple[int, int]


def candidates(
    generation: Generation, texts: Sequence[Text], terms: Terms, fresh: numpy.ndarray
) -> list[Places]:
    """Pairs of places in `texts`, lower first, of which one at least is `fresh` (a mask).

    All with equal texts, all of one category that are as near as what folds by itself, and of the others the most
    promising. Of several lore with the same text only the first is compared with others.
    """
    from engram.adapters.index import near

    twins, alone = _twins(texts)
    vectors = None
    if generation.vectors is not None:
        rows = [text.row for text in texts]
        vectors = generation.vectors.wholes(rows, generation.next_row, generation.next_slot)
    found: dict[Places, tuple[float, float]] = {}  # the cosine of each pair and how promising it is
    by_words = near.by_words(_masked(terms, alone), fresh)
    for one, other, weight, cosine in zip(
        *(column.tolist() for column in by_words),
        _cosines(vectors, by_words.one, by_words.other).tolist(),
        strict=True,
    ):
        if cosine >= _LEAST:
            found[one, other] = cosine, cosine + _WORD_SHARE * weight
    if vectors is not None:
        for members in _by_category(texts, alone):
            part = near.by_vectors(vectors[members], FLOOR, fresh[members])
            places = zip(members[part.one].tolist(), members[part.other].tolist(), strict=True)
            for pair, cosine in zip(places, part.nearness.tolist(), strict=True):
                found.setdefault(pair, (cosine, cosine))
    ranked = sorted(found, key=lambda pair: (-found[pair][1], pair))
    most = _CLOSE_LOOKS + len(texts) // _EVERY
    nearest = [
        (one, other)
        for one, other in ranked[most:]
        if found[one, other][0] >= NEAR and texts[one].category == texts[other].category
    ]
    return [*(pair for pair in twins if fresh[[*pair]].any()), *ranked[:most], *nearest]


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
    from engram.adapters.index.numeric import numpy_module

    members: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if alone[place]:
            members.setdefault(text.category, []).append(place)
    return [numpy_module().array(places) for places in members.values()]


def _masked(terms: Terms, alone: Sequence[bool]) -> Terms:
    """The terms without those of twins, whose text is that of another."""
    from engram.adapters.index.near import Terms
    from engram.adapters.index.numeric import numpy_module

    if all(alone):
        return terms
    np = numpy_module()
    sizes = np.diff(terms.starts)
    kept = np.array(alone)
    starts = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))])
    return Terms(starts, terms.terms[np.repeat(kept, sizes)])


def _cosines(vectors: numpy.ndarray | None, one: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    """The cosine of each pair; 1 where there are no vectors, and words alone have to do."""
    from engram.adapters.index.numeric import numpy_module

    if vectors is None:
        return numpy_module().ones(len(one))  # type: ignore[no-any-return]
    blocks = [slice(start, start + 65_536) for start in range(0, len(one), 65_536)]
    parts = [
        numpy_module().einsum("ij,ij->i", vectors[one[block]], vectors[other[block]]) for block in blocks
    ]
    return numpy_module().concatenate(parts) if parts else numpy_module().zeros(0)  # type: ignore[no-any-return]
