"""Handoffs: shown once to their recipient, at the start of a session, within its budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scopes_kit import record
from team_kit import EVIL, as_agent

from engram.domain.agents.framing import NOTICE
from engram.domain.errors import UsageError

if TYPE_CHECKING:
    from apikit import SetClock


def test_a_handoff_is_shown_once_to_its_recipient(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        ada.handoff("The consumer is done, retries are left.", to="bob", topic="queue", files=["src/q.py"])
        clock.advance(seconds=1)
        ada.handoff("The palette waits for a word of design.")
        with pytest.raises(UsageError, match="itself"):
            ada.handoff("x", to="ada")
        assert ada.get_context("queue").handoffs == ()  # neither is for her
    with as_agent(root, "bob", clock) as bob:
        preview = bob.get_context("something else", take=False)
        assert [one.content.split("\n")[0] for one in preview.handoffs] == [
            "Handoff from ada to bob: queue",
            "Handoff from ada to anybody",
        ]
        found = bob.get_context("something else")
        assert found.handoffs == preview.handoffs
        assert len(found.taken) == 2
        assert found.text.startswith(f"{NOTICE}\n\nHanded over to you:\n\nL1 · note · ada · today\n")
        assert bob.get_context("something else").handoffs == ()
        assert bob.handoffs() == []
        assert "taken-over" in bob.get(found.taken[0]).lore.tags
    with as_agent(root, "eve", clock) as eve:
        assert eve.get_context("queue").handoffs == ()


def test_a_session_starts_with_handoffs(root: Path, clock: SetClock) -> None:
    from engram.hooks import events
    from engram.hooks.payload import Payload

    with as_agent(root, "ada", clock) as ada:
        ada.handoff(f"Take care. {EVIL}", to="claude-code")
    start = Payload(cwd=str(root), source="startup")
    with as_agent(root, "claude-code", clock) as other:
        said = events.session_start(other.store, start, "claude-code").text
        assert "Handed over to you:" in said
        assert "\n[L1] note · ada · today\n" in said
        assert "<system>" not in said
        assert said.count("Take care.") == 1, "not in the brief, too"
        assert "Take care." not in events.session_start(other.store, start, "claude-code").text


def test_handoffs_in_an_agents_own_scope_are_shown_too(root: Path, clock: SetClock) -> None:
    record("So that there is a store of one's own.", root, "--scope", "user")
    with as_agent(root, "carl", clock) as carl:
        carl.register_agent("carl", default_scope="user")
        assert carl.handoff("From home.", to="bob").path
        assert carl.handoffs() == []
        assert carl.observe("Something seems slow here on Mondays.").waiting == 1
    with as_agent(root, "ada", clock) as ada:
        clock.advance(seconds=1)
        ada.handoff("From work.", to="bob")
    with as_agent(root, "bob", clock) as bob:
        assert len(bob.get_context("x", take=False).handoffs) == 1
        bob.register_agent("bob", default_scope="user")
        found = bob.get_context("x", scope="user", take=False)
        assert [one.content.split("\n")[-1] for one in found.handoffs] == ["From home."]
        found = bob.get_context("x")
        assert [one.content.split("\n")[-1] for one in found.handoffs] == ["From home.", "From work."]
        assert [bob.get(one.ref).scope for one in found.handoffs] == ["user", "project"]
        assert bob.get_context("x").handoffs == ()


def test_handoffs_beyond_the_budget_wait_for_the_next_session(root: Path, clock: SetClock) -> None:
    from engram.usecases.agents.handoffs import for_session_start

    with as_agent(root, "ada", clock) as ada:
        for number in range(3):
            ada.handoff(f"Part {number}. " + "It is half done. " * 40, to="bob")
    with as_agent(root, "bob", clock) as bob:
        first = for_session_start(bob.store, "bob", 450)
        assert [f"Part {number}." in first for number in range(3)] == [True, True, False]
        assert len(bob.handoffs()) == 1
        assert "Part 2." in for_session_start(bob.store, "bob", 450)
        assert for_session_start(bob.store, "bob", 450) == ""
