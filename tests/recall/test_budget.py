"""A budget of tokens, shared among the entries of an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.recall.budget import cut, shares, tokens

SMALLEST = 160
texts = st.lists(st.text("ab. \n", max_size=900), max_size=8)


def test_a_token_is_about_four_characters() -> None:
    assert [tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]


@given(texts)
def test_without_a_budget_nothing_is_cut(given_texts: list[str]) -> None:
    assert shares(given_texts, None) == given_texts


@given(texts, st.integers(1, 2000))
def test_shares_are_beginnings_and_keep_to_the_budget(given_texts: list[str], budget: int) -> None:
    shown = shares(given_texts, budget)
    assert len(shown) == len(given_texts)
    assert all(whole.startswith(part) for whole, part in zip(given_texts, shown, strict=True))
    assert sum(map(len, shown)) <= max(4 * budget, 0) + SMALLEST * len(given_texts)
    if sum(map(len, given_texts)) <= 4 * budget:
        assert shown == given_texts


@given(texts, st.integers(1, 2000))
def test_short_texts_are_never_cut(given_texts: list[str], budget: int) -> None:
    for whole, part in zip(given_texts, shares(given_texts, budget), strict=True):
        assert part == whole or len(whole) > SMALLEST


def test_what_short_texts_leave_goes_to_the_long_ones() -> None:
    short, long = "x" * 100, "y" * 5000
    assert [len(text) for text in shares([short, long], 500)] == [100, 1900]
    assert [len(text) for text in shares([long, long], 500)] == [1000, 1000]


@given(st.text("ab. \n", max_size=500), st.integers(0, 500))
def test_a_cut_is_a_beginning_of_at_most_that_length(text: str, length: int) -> None:
    assert len(cut(text, length)) <= length or len(text) <= length
    assert text.startswith(cut(text, length))


def test_a_cut_ends_at_a_paragraph_sentence_or_word() -> None:
    words = "The first sentence is here. The second one goes on and on"
    assert cut(words, 40) == "The first sentence is here."
    assert cut("one two three four", 9) == "one two"
    assert cut("a paragraph of its own\n\nanother one", 30) == "a paragraph of its own"
    assert cut("x" * 50, 10) == "x" * 10
