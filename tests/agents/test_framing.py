"""Lore framed for an agent: quoted, with its origin, within a budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.admission.credit import CONFIRMED, EarnedTier, EffectiveValues
from engram.domain.admission.tiers import Tier, tier_of
from engram.domain.agents.framing import (
    EXCERPT,
    QUOTE,
    frame,
    frame_whole,
    name_of,
    origin_of,
    quote,
    render,
    render_titles,
)
from engram.domain.entry.lore import Lore
from engram.domain.recall.budget import tokens

NOW = datetime(2026, 1, 2, tzinfo=UTC)
OWN = "01JAAAAAAAAAAAAAAAAAAAAAAA"
COUNTED = EffectiveValues(700, False, False, False)


def lore(content: str, agent: str = "codex", source: str = OWN) -> Lore:
    return Lore("01JBBBBBBBBBBBBBBBBBBBBBBB", content, "FACT", NOW, NOW, agent=agent, source_id=source)


@given(st.text(max_size=400))
def test_every_line_of_a_text_is_quoted(text: str) -> None:
    lines = quote(text).splitlines()
    assert all(line.startswith(QUOTE.strip()) for line in lines)
    assert not any(ord(letter) < 32 for line in lines for letter in line if letter != "\t")


@given(st.lists(st.text(min_size=1, max_size=3000), min_size=1, max_size=6), st.integers(50, 2000))
def test_entries_keep_the_budget_and_excerpts_are_marked(texts: list[str], budget: int) -> None:
    counts = EffectiveValues(700, False, False, False)
    found = [
        (f"L{n}", lore(text)._replace(id=f"{n:026}"), tier_of(lore(text), OWN), counts) for n, text in enumerate(texts, 1)
    ]  # fmt: skip
    fitted = frame(found, budget, NOW, "a question")
    assert tokens("\n\n".join([*map(render, fitted.items), render_titles(fitted.also)])) <= budget
    each = {one.id: one for one in frame_whole(found, NOW)}
    for one in fitted.items:
        assert (one.content == each[one.id].content) == (one.left_out == 0)
        assert (EXCERPT in one.about) == bool(one.left_out)
    assert not {one.ref for one in fitted.items} & {ref for ref, _ in fitted.also}
    if sum(len(render(one)) + 60 for one in each.values()) < 4 * budget and max(map(len, texts)) <= 500:
        assert [one.id for one in fitted.items] == list(each)


def test_an_entry_that_does_not_fit_is_named_by_its_title() -> None:
    counts, tier = EffectiveValues(700, False, False, False), tier_of(lore("x"), OWN)
    texts = [
        "First.\n\n" + "It is short. " * 40,
        "Second.\n\n" + "It is longer. " * 60,
        "Third.\n\nIt is short.",
    ]
    found = [(f"L{n}", lore(text)._replace(id=f"{n:026}"), tier, counts) for n, text in enumerate(texts, 1)]
    fitted = frame(found, 250, NOW)
    assert [one.content for one in fitted.items] == [texts[0], texts[2]]
    assert fitted.also == (("L2", "Second."),)


def test_other_entries_are_named_by_title_as_far_as_there_is_room() -> None:
    counts, tier = EffectiveValues(700, False, False, False), tier_of(lore("x"), OWN)
    said = "Paragraph {} says how the queue of note {} is drained."
    texts = [
        f"Note {n} about the queue.\n\n" + "\n\n".join(said.format(place, n) for place in range(length))
        for n, length in ((1, 18), (2, 60), (3, 60), (4, 60), (5, 60))
    ]
    found = [(f"L{n}", lore(text)._replace(id=f"{n:026}"), tier, counts) for n, text in enumerate(texts, 1)]
    fitted = frame(found, 430, NOW, "how is the queue drained?")
    assert [one.ref for one in fitted.items] == ["L1", "L2"]
    assert [ref for ref, _ in fitted.also] == ["L3", "L4"]


def test_titles_are_shown_without_link_targets() -> None:
    title = "Ada [pointed out](https://x.example/a-page-with-a-very-long-address/and-more/of-it) that [q] (sic) waits"
    assert name_of(title, is_checked=True) == "Ada pointed out that [q] (sic) waits"


def test_the_line_about_an_entry_is_at_most_twenty_tokens() -> None:
    said = lore("x", "claude-code", "01JCCCCCCCCCCCCCCCCCCCCCCC")._replace(category="IMPLEMENTATION_FRICTION")
    later = NOW + timedelta(days=17)
    (framed,) = frame_whole(
        [
            (
                "L12",
                said,
                tier_of(said, OWN),
                EffectiveValues(
                    900,
                    False,
                    True,
                    True,
                    earned=EarnedTier(CONFIRMED, 3, "Ada", int(NOW.timestamp() * 1000)),
                ),
            )
        ],
        later,
    )
    assert framed.about == "friction · confirmed 3×, last by Ada 2 weeks ago"
    assert tokens(f"[{framed.ref}] {framed.about}") <= 21


@pytest.mark.parametrize(
    ("days", "age"), [(0, "today"), (3, "3 d"), (59, "59 d"), (60, "2 mo"), (729, "24 mo"), (730, "2 y")]
)
def test_ages_are_abbreviated(days: int, age: str) -> None:
    (framed,) = frame_whole([("L1", lore("x"), Tier("agent", "codex"), COUNTED)], NOW + timedelta(days=days))
    assert framed.about == f"fact · codex · {age}"


def test_an_entry_without_an_agent_names_none() -> None:
    said = lore("x", "", "")
    (framed,) = frame_whole([("L1", said, tier_of(said, OWN), COUNTED)], NOW)
    assert framed.about == "fact · today"


def test_only_the_first_entry_shows_where_it_was_learned() -> None:
    both = [lore(text)._replace(context=("in a review",)) for text in ("First.", "Second.")]
    fitted = frame([(f"L{k}", one, Tier("agent", "codex"), COUNTED) for k, one in enumerate(both)], 500, NOW)
    assert [one.context for one in fitted.items] == ["in a review", ""]


def test_the_origin_names_the_agent_and_another_clone() -> None:
    assert origin_of(lore("x"), OWN) == "codex"
    assert origin_of(lore("x", source=""), OWN) == "codex"
    assert origin_of(lore("x", agent=""), OWN) == "unknown"
    assert origin_of(lore("x", source="01JCCCCCCCCCCCCCCCCCCCCCCC"), OWN) == "codex, another clone"
    assert len(origin_of(lore("x", agent="a\x1b" * 100), OWN)) <= 40
