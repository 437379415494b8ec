"""Two texts are compared by whole words, completely, and in bounded time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.text.word_diff import word_diff

TEXTS = st.text(alphabet="ab \n.é漢", max_size=60)


@given(TEXTS, TEXTS)
def test_the_pieces_join_to_both_texts_and_equal_texts_have_equal_pieces(one: str, other: str) -> None:
    found = list(word_diff(one, other))
    assert "".join(mine for mine, _ in found) == one
    assert "".join(others for _, others in found) == other
    if one == other:
        assert all(mine == others for mine, others in found)


def test_differences_are_whole_words() -> None:
    found = word_diff("Expire after 30 minutes.", "Expire after 12 hours.")
    assert [pair for pair in found if pair[0] != pair[1]] == [("30 minutes", "12 hours")]


def test_a_comparison_yields_equal_and_different_pieces_in_order() -> None:
    found = list(word_diff("It takes 40 seconds.", "It takes 90 seconds, at most."))
    assert found == [
        ("It takes ", "It takes "),
        ("40", "90"),
        (" seconds", " seconds"),
        ("", ", at most"),
        (".", "."),
    ]
    assert "".join(old for old, _ in found) == "It takes 40 seconds."


def test_a_word_missing_at_the_end_of_a_line_does_not_change_the_line_end() -> None:
    found = list(word_diff("tags: queue, retry\nentities: Broker", "tags: queue\nentities: Broker"))
    assert found == [("tags: queue",) * 2, (", retry", ""), ("\nentities: Broker",) * 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a " * 2000, "a b " * 1000),
        ("." * 4000, ",." * 2000),
        (" \n", "x"),
        ("", ""),
        ("a  b", "a\nb"),
        ("x\n" * 2000, "y x\n" * 1000),
    ],
)
def test_repetitive_texts_are_compared_quickly_and_completely(one: str, other: str) -> None:
    found = list(word_diff(one, other))
    assert ("".join(old for old, _ in found), "".join(new for _, new in found)) == (one, other)
