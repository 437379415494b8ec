"""What text costs a language model."""

from __future__ import annotations

from engram.domain.recall.budget import tokens


def test_a_token_is_about_four_characters() -> None:
    assert [tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
