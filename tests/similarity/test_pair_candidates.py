"""The pairs to assess: those that comparing each text with each would find, by vectors and by shared words."""

from __future__ import annotations

import pytest

from engram.adapters.index import nearest_pairs
from engram.adapters.numeric import numpy_module


def test_near_vectors_are_found_as_by_comparing_each_with_each() -> None:
    np = numpy_module()
    random = np.random.default_rng(1)
    vectors = random.normal(size=(90, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    fresh = random.random(90) < 0.3
    found = nearest_pairs.find_by_vectors(vectors, 0.8, fresh)
    cosines = vectors @ vectors.T
    wanted = {
        (one, other)
        for one in range(90)
        for other in range(one + 1, 90)
        if cosines[one, other] >= 0.8 and (fresh[one] or fresh[other])
    }
    assert {*zip(found.one.tolist(), found.other.tolist(), strict=True)} == wanted


def test_shared_words_are_found_as_by_comparing_each_with_each() -> None:
    np = numpy_module()
    random = np.random.default_rng(2)
    said = [sorted({*random.integers(0, 40, size=6).tolist()}) for _ in range(30)]
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in said])])
    terms = nearest_pairs.Terms(starts, np.array([term for terms in said for term in terms], np.uint32))
    found = nearest_pairs.find_by_words(terms, np.ones(30, bool))
    counts = nearest_pairs.frequencies(terms)
    from engram.domain.similarity.pairs import rarity

    for one in range(30):
        for other in range(one + 1, 30):
            shared = {*said[one]} & {*said[other]}
            weight = sum(rarity(counts[term], 30) for term in shared if counts[term] <= 10)
            place = np.flatnonzero((found.one == one) & (found.other == other))
            assert len(place) == (weight >= 4)
            if len(place):
                length = (len(said[one]) * len(said[other])) ** 0.5
                assert found.nearness[place[0]] == pytest.approx(weight / length, rel=1e-4)
