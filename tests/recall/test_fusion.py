"""Joining ranked lists: the sum of reciprocal places."""

from __future__ import annotations

from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from engram.domain.recall.fusion import K, fuse


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), max_size=6), st.integers(1, 100))
def test_a_fused_score_is_the_sum_of_reciprocal_ranks(lists: list[list[str]], k: int) -> None:
    found = fuse(lists, k)
    assert {one.name for one in found} == {name for names in lists for name in names}
    assert all(one.score >= other.score for one, other in pairwise(found))
    for one in found:
        places = [list(dict.fromkeys(names)).index(one.name) + 1 for names in lists if one.name in names]
        assert one.lists == len(places)
        assert one.score == pytest.approx(sum(1 / (k + place) for place in places))
    assert K == 60
