"""The beginning of a text never ends within a word that could be a secret."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.text.whole_words import first_words


@given(st.text(alphabet="ab  \nä字", max_size=40), st.integers(0, 40))
def test_the_beginning_of_a_text_fits_and_has_only_whole_words(text: str, most: int) -> None:
    found = first_words(text, most)
    assert len(found) <= most or found == text == ""
    assert text.startswith(found)
    assert not (found[-1:] in ("a", "b") and text[len(found) :][:1] in ("a", "b"))


def test_the_beginning_of_a_text_is_as_long_as_possible() -> None:
    assert first_words("one two three ", 14) == "one two three "
    assert first_words("one two three", 12) == first_words("one two three", 7) == "one two"
    assert first_words("one two\nthree", 9) == "one two"
    assert first_words("one two three", 6) == "one"
    assert first_words("onetwothree", 6) == ""
    assert first_words("認証に失敗しました", 5) == "認証に失敗"
    assert first_words("認証token", 5) == "認証"
