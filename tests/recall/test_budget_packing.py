"""A budget spent on an answer: the best entry whole, then the next, and no stumps."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.recall.budget import PASSAGES, WHOLE, Excerpt
from engram.domain.recall.budget_packing import fill

FIX = "PgBouncer in transaction mode loses prepared statements. Pass statement_cache_size=0 to asyncpg."
OTHER = "The palette of the settings page was chosen for contrast. Buttons are at least forty pixels high."
NOTE = "\n\n".join(["Notes of the week", *[OTHER] * 8, FIX, *[OTHER] * 8])


def length(_number: int, shown: Excerpt) -> int:
    return len(shown.text)


@given(st.lists(st.text(max_size=3000), max_size=7), st.integers(0, 6000))
def test_what_is_shown_fits_and_only_the_first_short_text_may_lose_a_part(
    texts: list[str], room: int
) -> None:
    found = fill(texts, room, "a question", cost=length)
    assert len(found) == len(texts)
    assert sum(len(shown.text) for shown in found if shown) <= room
    cut = [number for number, shown in enumerate(found) if shown and shown.left_out]
    first = next((number for number, shown in enumerate(found) if shown and shown.text), -1)
    assert all(len(texts[number]) > WHOLE or number == first for number in cut)


def test_where_there_is_room_for_all_even_long_texts_are_whole() -> None:
    assert fill([NOTE, OTHER], len(NOTE) + len(OTHER), "", cost=length) == [Excerpt(NOTE), Excerpt(OTHER)]


def test_a_budget_is_spent_from_the_top_and_nothing_short_is_cut() -> None:
    texts = ["a" * 700, "b" * 900, "c" * 200, NOTE]
    found = fill(texts, 1500, "asyncpg statements", cost=length)
    assert [shown.text if shown else "" for shown in found][:3] == [texts[0], "", texts[2]]
    assert found[3] is not None
    assert FIX in found[3].text
    assert sum(len(shown.text) for shown in found if shown) <= 1500


def test_only_the_first_entry_may_lose_a_part_where_the_room_is_too_small() -> None:
    text = OTHER * 8
    (found,) = fill([text], 300, "", cost=length)
    assert found is not None
    assert re.fullmatch(r"The palette .*\.", found.text, re.DOTALL)
    assert found.left_out > 0
    assert fill([text], 50, "", cost=length) == [None]
    assert PASSAGES <= WHOLE
