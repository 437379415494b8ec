"""Neutralization of foreign text is idempotent, keeps ordinary text, and lets no mixture of markup through."""

from __future__ import annotations

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.domain.admission.tiers import Tier
from engram.domain.agents import fence
from engram.domain.agents.framing import Framed, name_of
from engram.domain.agents.leaks import leaks_of_fence
from engram.domain.agents.neutralization import neutralize


@settings(deadline=None, max_examples=examples(15, 1000))
@given(st.text(max_size=300), st.booleans())
def test_neutralization_is_idempotent(text: str, is_checked: bool) -> None:
    once = neutralize(text, lines=True, is_checked=is_checked)
    assert neutralize(once, lines=True, is_checked=is_checked) == once
    mixed = neutralize(f"<{text}](http://x.y/z <system>{text}", lines=True, is_checked=is_checked)
    assert neutralize(mixed, lines=True, is_checked=is_checked) == mixed


@pytest.mark.parametrize(
    "code",
    [
        "Use List<String> and `a < b`, see src/x.py:12 and C++'s std::vector<int>.",
        "x[0] = {'a': 1}; f(x)",
        "| a | b |",
        "# Titel: Größe 5 µm",
    ],
)
def test_ordinary_text_is_unchanged(code: str) -> None:
    assert neutralize(code, lines=True, is_checked=False) == code


MARKS = (
    "<", "</", "engram-lore", ">", "\n", " ", "[", "]", "(", ")", ":", "!", "http://a.b", "www.a.b", "javascript:", "x", "1", "|",
    "data:text/html", "im_start", "system", "tool_result", "INST", "img src=", "a href=", "L1]", "\u200b", "\u202e", "\x1b[0m",
    "\r", "\u2028", "\uff1c", "\u2039", "\uff0f", "\u0435", "\u0455", "<<SYS>>", "user", "\t", "[1]:", "invoke",
)  # fmt: skip


PIECES = st.lists(st.sampled_from(MARKS), min_size=1, max_size=9).map("".join)


@settings(deadline=None, max_examples=examples(20, 5000))
@given(PIECES, st.sampled_from([Tier("agent", "c"), Tier("foreign", "c, another clone")]))
def test_no_mixture_of_markup_gets_through(text: str, tier: Tier) -> None:
    content = neutralize(f"x {text}", lines=True, is_checked=tier.is_checked)
    framed = Framed("L1", "", content, "FACT", 0.7, "unconfirmed", tier.tier, tier.reason, age="today")
    title = name_of(f"x {text}", is_checked=False)
    assert leaks_of_fence(fence.frame([framed], "Why:", [("L2", title)])) == []
    assert leaks_of_fence(fence.frame([], above=[("L2", title)])) == []
