"""How confidence, ages and categories are written in few cells."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore
from engram.domain.text.counted_nouns import elapsed
from engram.domain.text.drawing import gauge
from engram_tui.widgets.format import format_helpful, fraction, short_category


@given(st.integers(0, 1000), st.integers(1, 40))
def test_confidence_is_always_a_full_bar_and_three_characters(thousandths: int, cells: int) -> None:
    assert len(gauge(thousandths / 1000, cells)) == cells
    assert len(fraction(thousandths)) == 3


@pytest.mark.parametrize(
    ("value", "written"), [(0, ".00"), (704, ".70"), (705, ".71"), (994, ".99"), (995, "1.0")]
)
def test_fractions_round_as_the_file_does(value: int, written: str) -> None:
    assert fraction(value) == written


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "now"), (59, "now"), (60, "1 min"), (7200, "2 h"), (86_400 * 6, "6 d"), (86_400 * 20, "2 w"),
     (86_400 * 364, "11 mo"), (86_400 * 800, "2 y")],
)  # fmt: skip
def test_ages_are_written_in_their_largest_unit(seconds: float, words: str) -> None:
    assert elapsed(seconds) == words


def test_a_category_that_a_store_defines_is_readable_too() -> None:
    assert short_category("EDGE_CASE_DISCOVERY") == "EDGE CASE"
    assert short_category("HOUSE_RULE") == "HOUSE RULE"


def test_an_entry_that_absorbed_another_is_confirmed_though_it_never_helped() -> None:
    moment = datetime(2026, 3, 4, 12, tzinfo=UTC)
    lore = Lore("ID", "Retry.", "FACT", moment, moment)
    now = moment.timestamp() + 7_200
    assert format_helpful(lore, now) == "not validated yet"
    assert format_helpful(lore._replace(last_validated=moment), now) == "confirmed 2 h ago"
    judged = lore._replace(last_validated=moment, votes={"A": Vote(80, 0, 3)})
    assert format_helpful(judged, now) == "✓3, last 2 h ago"
