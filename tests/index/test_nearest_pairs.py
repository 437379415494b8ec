"""Pairs of texts near each other, as defined: by the cosines of their vectors, and by shared rare words.

Mutants that make no difference: how many pairs are considered in all, and in one block; what stands for a cosine that does
not count; a text with just as many near as count; leaving out words that join none sooner or later; a weight that is just
the least.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.index import nearest_pairs
from engram.domain.similarity.pairs import rarity

texts = st.lists(st.sets(st.integers(0, 12), max_size=6), max_size=30)


def terms_of(found: list[set[int]]) -> nearest_pairs.Terms:
    starts = np.cumsum([0, *map(len, found)])
    return nearest_pairs.Terms(starts, np.array([term for one in found for term in sorted(one)], np.int64))


def pairs(found: nearest_pairs.Found) -> dict[tuple[int, int], float]:
    named = list(zip(found.one.tolist(), found.other.tolist(), strict=True))
    assert named == sorted(set(named)), "each pair once, in order"
    return dict(zip(named, found.nearness.tolist(), strict=True))


@given(texts, st.randoms(use_true_random=False), st.booleans())
def test_texts_that_share_rare_words_are_pairs_weighted_by_rarity(
    found: list[set[int]], chance: object, some: bool
) -> None:
    fresh = np.array([not some or chance.random() < 0.3 for _ in found], bool)  # type: ignore[attr-defined]
    count = len(found)
    often = {term: sum(term in one for one in found) for one in found for term in one}
    expected = {}
    for one, other in combinations(range(count), 2):
        shared = [often[term] for term in found[one] & found[other] if often[term] <= max(10, count // 10)]
        weight = sum(rarity(size, count) for size in shared)
        if (fresh[one] or fresh[other]) and weight >= 4 + 1e-4:
            expected[one, other] = weight / math.sqrt(len(found[one]) * len(found[other]))
    assert pairs(nearest_pairs.find_by_words(terms_of(found), fresh)) == pytest.approx(expected, rel=1e-4)


def test_words_in_more_than_ten_texts_and_a_tenth_of_them_make_no_pairs() -> None:
    for count, size, is_rare in ((60, 10, True), (60, 11, False), (120, 12, True), (120, 13, False)):
        found = [{*range(6)} if number < size else {number + 6} for number in range(count)]
        assert bool(pairs(nearest_pairs.find_by_words(terms_of(found), np.ones(count, bool)))) is is_rare


@given(st.integers(0, 12), st.integers(0, 99), st.floats(-0.5, 0.9))
def test_texts_with_near_vectors_are_pairs_if_one_of_them_is_new(count: int, seed: int, floor: float) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(count, 4)).astype("float32")
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    fresh = chance.random(count) < 0.5
    expected = {
        (one, other): cosine
        for one, other in combinations(range(count), 2)
        if (cosine := float(vectors[one] @ vectors[other])) >= floor and (fresh[one] or fresh[other])
    }
    assert pairs(nearest_pairs.find_by_vectors(vectors, floor, fresh)) == pytest.approx(expected, abs=1e-5)


def test_only_the_nearest_neighbours_of_a_text_make_pairs() -> None:
    angles = np.arange(40) / 100
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype("float32")
    fresh = np.zeros(40, bool)
    fresh[0] = True
    assert sorted(pairs(nearest_pairs.find_by_vectors(vectors, 0.9, fresh))) == [
        (0, other) for other in range(1, 17)
    ]


def test_a_cosine_equal_to_the_floor_makes_a_pair() -> None:
    angles = [0.0, *np.arange(1, 17) / 100, np.pi]
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype("float32")
    vectors[-1] = (0.5, -(0.75**0.5))
    fresh = np.array([True, *[False] * 17])
    for some, others in ((vectors, [*range(1, 17)]), (np.delete(vectors, 16, axis=0), [*range(1, 17)])):
        found = nearest_pairs.find_by_vectors(some, 0.5, fresh[: len(some)])
        assert [other for _, other in pairs(found)] == others


def test_the_document_frequency_of_each_word_is_counted() -> None:
    assert nearest_pairs.frequencies(terms_of([{1, 2}, {2}, set(), {2, 5}])) == {1: 1, 2: 3, 5: 1}
