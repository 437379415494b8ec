"""Two texts compared word by word: nothing is lost, words differ and not letters, and no text makes it long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.text.word_diff import word_diff

TEXTS = st.text(alphabet="ab \n.é漢", max_size=60)


@given(TEXTS, TEXTS)
def test_pieces_are_the_texts_again_and_what_is_equal_is_equal(one: str, other: str) -> None:
    found = list(word_diff(one, other))
    assert "".join(mine for mine, _ in found) == one
    assert "".join(others for _, others in found) == other
    if one == other:
        assert all(mine == others for mine, others in found)


def test_words_differ_not_letters() -> None:
    found = word_diff("Expire after 30 minutes.", "Expire after 12 hours.")
    assert [pair for pair in found if pair[0] != pair[1]] == [("30 minutes", "12 hours")]


def test_two_texts_are_compared_word_by_word() -> None:
    found = list(word_diff("It takes 40 seconds.", "It takes 90 seconds, at most."))
    assert found == [
        ("It takes ", "It takes "),
        ("40", "90"),
        (" seconds", " seconds"),
        ("", ", at most"),
        (".", "."),
    ]
    assert "".join(old for old, _ in found) == "It takes 40 seconds."


def test_a_word_that_is_missing_at_the_end_of_a_line_leaves_the_line_end_alike() -> None:
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
def test_no_text_makes_a_comparison_long_or_loses_a_letter(one: str, other: str) -> None:
    found = list(word_diff(one, other))
    assert ("".join(old for old, _ in found), "".join(new for _, new in found)) == (one, other)
