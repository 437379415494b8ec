"""Accents are removed, even from letters that Unicode does not decompose."""

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
def test_accents_are_removed_even_from_letters_without_a_decomposition(text: str, plain: str) -> None:
    assert without_accents(text) == plain
