"""Categories of entries: their names, aliases, and the type that follows from each."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import QUEUE, lore_files, open_test_store

from engram.domain.entry.categories import ALIASES, Categories
from engram.domain.errors import ValidationError

BUILT_IN = Categories().names


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_category_is_accepted_in_any_case_with_either_dash(tmp_path: Path, name: str) -> None:
    spellings = [name, name.lower(), name.title(), name.replace("_", "-"), name.lower().replace("_", "-")]
    categories = Categories()
    assert {categories.parse(spelling) for spelling in spellings} == {name}


def test_aliases_name_their_category(tmp_path: Path) -> None:
    documented = {
        "decision": "ARCHITECTURAL_DECISION",
        "pattern": "PATTERN_OUTCOME",
        "insight": "PATTERN_OUTCOME",
        "error": "FAILURE",
        "tool_observation": "OBSERVATION",
        "Tool-Observation": "OBSERVATION",
    }
    with open_test_store(tmp_path) as store:
        for alias, category in documented.items():
            assert store.record(f"about {alias}", category=alias).lore.category == category
    assert len(ALIASES) == 5


@pytest.mark.parametrize("category", ["DECISIONS_OF_THE_MOON", "fact;", "\0"])
def test_an_unknown_category_is_refused_with_the_list_of_valid_ones(tmp_path: Path, category: str) -> None:
    with open_test_store(tmp_path) as store, pytest.raises(ValidationError) as caught:
        store.record(QUEUE, category=category)
    assert caught.value.field == "category"
    assert all(name in caught.value.hint for name in BUILT_IN)
    assert lore_files(tmp_path) == []


def test_the_type_follows_from_the_category_unless_it_is_given(tmp_path: Path) -> None:
    expected = {"FACT": "semantic", "WORKFLOW": "procedural", "FAILURE": "episodic", "PLAN": "working"}
    with open_test_store(tmp_path) as store:
        for category, kind in expected.items():
            assert store.record(category, category=category).lore.type == kind
        assert store.record("given", category="FACT", type="Working").lore.type == "working"
        with pytest.raises(ValidationError, match="not a type"):
            store.record("given", category="FACT", type="eternal")
