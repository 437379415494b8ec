"""Letters without accents, those among them that Unicode does not take apart."""

from __future__ import annotations

import pytest

from engram.domain.text.plain_letters import without_accents


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Nováková", "novakova"),
        ("Søren Ødegaard", "soren odegaard"),
        ("Łucja Kaźmierczak", "lucja kazmierczak"),
        ("Großmann", "grossmann"),
        ("Ægir Þór Đukić", "aegir thor dukic"),
        ("plain", "plain"),
    ],
)
def test_a_text_loses_its_accents_also_those_that_are_part_of_a_letter(text: str, plain: str) -> None:
    assert without_accents(text) == plain
