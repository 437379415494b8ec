"""The beginning of a text in whole words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.text.whole_words import first_words


@given(st.text(alphabet="ab  ", max_size=40), st.integers(0, 40))
def test_it_fits_and_each_of_its_words_is_whole(text: str, most: int) -> None:
    found = first_words(text, most)
    assert len(found) <= max(most, 0)
    assert text.startswith(found)
    assert found in ("", text) or text[len(found)] == " "


def test_it_is_as_long_as_fits() -> None:
    assert first_words("one two three", 13) == "one two three"
    assert first_words("one two three", 12) == first_words("one two three", 7) == "one two"
    assert first_words("one two three", 6) == "one"
    assert first_words("onetwothree", 6) == ""
