"""Session refs, and finding an entry by some of its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.refs import Seen, fold, match_snippet, ref_number

QUEUE = Seen(
    "1", "Queue consumers must be idempotent", "Queue consumers must be idempotent.\n\nBrokers deliver twice."
)
TMP = Seen("2", "tmp_path is per test", "tmp_path is per test, tmp_path_factory per session")
TIDES = Seen("3", "Tide tables", "Tide tables are in local time. Brokers do not care.")
ALL = (QUEUE, TMP, TIDES)
lore = st.builds(Seen, st.uuids().map(str), st.text(max_size=60), st.text(max_size=200))


@pytest.mark.parametrize(("name", "number"), [("L1", 1), ("l12", 12), (" L3 ", 3), ("L000007", 7)])
def test_session_refs_have_numbers(name: str, number: int) -> None:
    assert ref_number(name) == number


@pytest.mark.parametrize("name", ["", "L", "1", "LL1", "L1x", "L-1", "L1.0", "L1234567", "L 1", "L¹"])
def test_other_names_are_no_session_refs(name: str) -> None:
    assert ref_number(name) is None


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("queue consumers must be idempotent", [QUEUE]),
        ("QUEUE   Consumers", [QUEUE]),
        ("deliver twice", [QUEUE]),
        ("brokers", [QUEUE, TIDES]),
        ("tide tables", [TIDES]),
        ("`tmp_path_factory`", [TMP]),
        ("queue consumer must be idempotent", [QUEUE]),
        ("queue consumers have to be idempotent always", [QUEUE]),
        ("something quite different", []),
        ("", []),
        ("!?", []),
    ],
)
def test_a_snippet_finds_matching_entries(snippet: str, expected: list[Seen]) -> None:
    assert match_snippet(snippet, ALL) == expected


def test_an_equal_title_takes_precedence_over_texts_that_contain_it() -> None:
    longer = Seen("4", "More on tide tables", "Tide tables are printed.")
    assert match_snippet("tide tables", [longer, TIDES]) == [TIDES]


def test_entries_with_equal_titles_are_all_returned() -> None:
    twin = TIDES._replace(id="5")
    assert match_snippet("tide tables", [TIDES, twin]) == [TIDES, twin]


@given(st.text(max_size=80), st.lists(lore, max_size=6))
def test_matches_of_any_snippet_are_among_the_entries_shown(snippet: str, seen: list[Seen]) -> None:
    found = match_snippet(snippet, seen)
    assert all(one in seen for one in found)
    assert fold(snippet) or not found


@given(st.lists(lore, min_size=1, max_size=6))
def test_an_entry_is_among_the_matches_of_its_own_title(seen: list[Seen]) -> None:
    title = seen[0].title
    if fold(title):
        assert seen[0] in match_snippet(title, seen)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
