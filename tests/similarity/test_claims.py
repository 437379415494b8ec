"""Values in a text: found under the word before and the unit after."""

from __future__ import annotations

from engram.domain.similarity.claims import Claim


def test_numbers_are_found_by_the_word_before_and_the_unit_after() -> None:
    found = Claim("Requires Python 3.11 and waits five seconds, not `5 mins`.").values
    assert found["python …"] == {"3.11"}
    assert found["… second"] == {"5"}
    assert found["… minute"] == {"5"}
