"""Lore before an agent: quoted whatever it says, with its origin, within a budget."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.admission.credit import Counted
from engram.domain.admission.tiers import tier_of
from engram.domain.agents.framing import QUOTE, as_text, frame, origin_of, quote
from engram.domain.entry.lore import Lore
from engram.domain.recall.budget import tokens

NOW = datetime(2026, 1, 2, tzinfo=UTC)
OWN = "01JAAAAAAAAAAAAAAAAAAAAAAA"


def lore(content: str, agent: str = "codex", source: str = OWN) -> Lore:
    return Lore("01JBBBBBBBBBBBBBBBBBBBBBBB", content, "FACT", NOW, NOW, agent=agent, source_id=source)


@given(st.text(max_size=400))
def test_every_line_of_a_text_stands_behind_a_quote_mark(text: str) -> None:
    lines = quote(text).splitlines()
    assert all(line.startswith(QUOTE.strip()) for line in lines)
    assert not any(ord(letter) < 32 for line in lines for letter in line if letter != "\t")


@given(st.lists(st.text(min_size=1, max_size=3000), min_size=1, max_size=6), st.integers(300, 2000))
def test_lore_share_the_budget_and_say_what_is_missing(texts: list[str], budget: int) -> None:
    counts = Counted(700, False, False, False)
    found = [(f"L{n}", one, tier_of(one, OWN), counts) for n, one in enumerate(map(lore, texts), 1)]
    framed = frame(found, budget, NOW)
    smallest = 40 * len(texts)  # nothing is cut below 160 characters
    assert sum(tokens(one.content) for one in framed) <= max(budget, smallest) + len(texts)
    whole = frame(found, None, NOW)
    for cut, full in zip(framed, whole, strict=True):
        assert full.left_out == 0
        assert cut.left_out == len(full.content) - len(cut.content)
        assert full.content.startswith(cut.content)
        assert ("more characters" in as_text(cut).splitlines()[-1]) == bool(cut.left_out)


def test_the_origin_names_who_and_whether_it_came_from_elsewhere() -> None:
    assert origin_of(lore("x"), OWN) == "codex"
    assert origin_of(lore("x", source=""), OWN) == "codex"
    assert origin_of(lore("x", agent=""), OWN) == "unknown"
    assert origin_of(lore("x", source="01JCCCCCCCCCCCCCCCCCCCCCCC"), OWN) == "codex, another clone"
    assert len(origin_of(lore("x", agent="a\x1b" * 100), OWN)) <= 40
