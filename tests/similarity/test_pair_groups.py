"""Groups of duplicates: of those that all pair, each entry in one at most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.similarity.equivalence import CONTRADICTION, DUPLICATE, SAME
from engram.domain.similarity.pair_groups import group_pairs
from engram.domain.similarity.pairs import Pair


def pair(one: str, other: str, kind: str = DUPLICATE, strength: float = 0.5) -> Pair:
    return Pair(one, other, kind, strength, "", 0.5)


def test_duplicates_that_all_pair_are_one_group() -> None:
    found = group_pairs([pair("a", "b", strength=0.9), pair("b", "c", strength=0.8), pair("a", "c")])
    assert found == [("a", "b", "c")]


def test_a_chain_of_duplicates_does_not_join_its_ends() -> None:
    chain = [pair("a", "b", strength=0.9), pair("b", "c", strength=0.8), pair("c", "d", strength=0.7)]
    assert group_pairs(chain) == [("a", "b", "c")] or group_pairs(chain) == [("a", "b"), ("c", "d")]
    assert ("a", "b", "c", "d") not in group_pairs(chain)


def test_copies_are_one_group_however_many_there_are() -> None:
    copies = [pair("a", name, SAME, 1.0) for name in "bcdefg"]
    assert group_pairs(copies) == [tuple("abcdefg")]


def test_a_contradiction_keeps_two_groups_apart() -> None:
    found = group_pairs([pair("a", "b"), pair("b", "c"), pair("a", "c", CONTRADICTION)])
    assert all(not {"a", "c"} <= {*group} for group in found)


IDS, KINDS = st.sampled_from("abcdefgh"), st.sampled_from([SAME, DUPLICATE, CONTRADICTION])


@given(st.lists(st.tuples(IDS, IDS, KINDS), max_size=20))
def test_each_entry_is_in_one_group_at_most(found: list[tuple[str, str, str]]) -> None:
    listed = group_pairs([pair(*sorted((one, other)), kind) for one, other, kind in found if one != other])
    members = [lore_id for group in listed for lore_id in group]
    assert len(members) == len({*members})
    assert all(len(group) > 1 for group in listed)
