"""Conversations: a summary is updated until a long pause or an explicit new one."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import SECRET, SetClock, lore_files
from team_kit import as_agent, changed

from engram.domain.errors import SecretFoundError
from engram.domain.graph.team import is_ongoing


def test_a_pause_or_the_argument_new_begins_a_new_conversation(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        first = ada.summarize("Talked about the queue.", participants=["bob"])
        clock.advance(minutes=29)
        ada.query("queue")  # the session goes on
        clock.advance(minutes=29)
        again = ada.summarize("Talked about the queue and its retries.", participants=["eve"], files=["a.py"])
        assert (first.new, again.new, again.lore.id) == (True, False, first.lore.id)
        assert again.keys == ("session of ada", "", ("ada", "bob", "eve"))
        clock.advance(minutes=31)
        second = ada.summarize("Then about tides.")
        third = ada.summarize("And now palettes.", new=True)
        assert [second.keys.parent, third.keys.parent] == [first.lore.id, second.lore.id]
        assert [one.lore.content for one in ada.conversations()] == [
            "And now palettes.", "Then about tides.", "Talked about the queue and its retries."
        ]  # fmt: skip
        assert len(lore_files(root)) == 3
        assert b"participants: [ada, bob, eve]\n---\n" in (root / first.path).read_bytes()
        assert ada.edit(first.lore.id, changed(add_tags=("x",))).lore.tags == ("x",)
        assert b"session: session of ada\n" in (root / first.path).read_bytes()
        with pytest.raises(SecretFoundError):
            ada.summarize(f"The token is {SECRET}")
    with as_agent(root, "ada", clock, "another") as other:
        assert other.summarize("Another session.").keys.parent == ""


def test_a_conversation_continues_across_short_pauses() -> None:
    assert is_ongoing([], 0, 1800)
    assert not is_ongoing([], 0, 1801)
    assert is_ongoing([1700, 3400, 9999, -5], 0, 5000)
    assert not is_ongoing([100, 2000], 0, 2001)
