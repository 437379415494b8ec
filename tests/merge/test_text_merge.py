"""Merging texts by lines: exact alignment, symmetric results, touching changes conflict.

Mutants that make no difference: one bit more in the rows, which stands for no line.
"""

from __future__ import annotations

import time
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from merge_kit import quick

from engram.domain.merge.text_merge import common, merge_text, merge_versions

lines = st.lists(st.sampled_from("abcd"), max_size=12)
texts = lines.map("\n".join)


def length_of_longest(one: list[str], other: list[str]) -> int:
    """The textbook recursion, as the judge of the bit-parallel one."""

    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


@quick
@example(list("axc"), list("bac"))
@example(list("bac"), list("axc"))
@example(list("ac"), list("cbc"))
@example(list("cbc"), list("ac"))
@given(lines, lines)
def test_the_alignment_is_a_longest_common_subsequence(one: list[str], other: list[str]) -> None:
    pairs = common(one, other)
    assert [one[at] for at, _ in pairs] == [other[there] for _, there in pairs]
    assert all(a < b and c < d for (a, c), (b, d) in pairwise(pairs))
    assert len(pairs) == length_of_longest(one, other)


@quick
@given(texts, texts, texts)
def test_sides_can_be_swapped(base: str, ours: str, theirs: str) -> None:
    assert merge_versions(base, ours, theirs) == merge_versions(base, theirs, ours)[::-1]


@quick
@given(texts, texts)
def test_one_changed_side_is_the_result(base: str, ours: str) -> None:
    assert merge_text(base, ours, base) == ours
    assert merge_text(base, base, ours) == ours
    assert merge_text(base, ours, ours) == ours


@quick
@given(texts, texts, texts)
def test_every_new_line_of_a_side_is_in_a_merged_text(base: str, ours: str, theirs: str) -> None:
    merged = merge_text(base, ours, theirs)
    if merged is not None:
        old, mine, yours, found = (set(text.split("\n")) for text in (base, ours, theirs, merged))
        assert (mine | yours) - old <= found <= old | mine | yours


BASE = "Title\n\nfirst paragraph\n\nsecond paragraph\n\nthird paragraph"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        (("first", "1st"), ("third", "3rd"), BASE.replace("first", "1st").replace("third", "3rd")),
        (("Title\n\n", ""), ("\n\nthird paragraph", ""), "first paragraph\n\nsecond paragraph"),
        (("first", "1st"), ("first", "1st"), BASE.replace("first", "1st")),
        (("first", "1st"), ("first", "No. 1"), None),
        (("second paragraph\n\n", ""), ("second", "2nd"), None),
        (("second paragraph\n\n", ""), ("third", "3rd"), None),  # the changes touch
        (("third paragraph", "third paragraph\nmore"), ("third paragraph", "third paragraph\nelse"), None),
    ],
)
def test_separate_changes_are_merged_and_touching_ones_conflict(
    ours: tuple[str, str], theirs: tuple[str, str], merged: str | None
) -> None:
    assert merge_text(BASE, BASE.replace(*ours), BASE.replace(*theirs)) == merged


@pytest.mark.parametrize("unit", ["\n", "a\n", "a\nb\n"])
def test_the_longest_texts_are_merged_quickly(unit: str) -> None:
    base = (unit * 4000)[:4000]
    start = time.process_time()
    merge_text(base, "x\n" + base[:-7] + "\ny", base[100:] + "z\n" * 50)
    merge_text(base, "".join(f"{n}\n" for n in range(900)), "".join(f"{n}\n" for n in range(900, 0, -1)))
    assert time.process_time() - start < 1
