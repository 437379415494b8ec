"""Captured entries in answers: after all others, with their tier, at most two, for two weeks."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import SetClock, ok, open_test_store
from mcp_kit import connect_inside
from mcp_kit import ok as called

from engram.usecases.agents.captured_notes import append_captured
from engram.usecases.recall.captured_recall import MOST, find_captured
from engram.usecases.store import captured
from tests.hooks.test_captured import PROMPT, WHY, ends, session, with_two_facts


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_two_facts(tmp_path / "store")


async def test_a_query_of_an_agent_gets_it_after_all_others_with_its_tier(root: Path) -> None:
    ok("record", "MinIO of the upload tests accepts no CRC32C checksum over http.", "-c", "fact", cwd=root)
    ends(root, session(root))
    async with connect_inside(root) as client:
        found = await called(client, "recall_query", query=PROMPT)
        nothing = await called(client, "recall_query", query="tide tables in local time")
    about = [one["about"] for one in found["lore"]]
    assert "captured today, not confirmed" in about[-1]
    assert sum("captured" in one for one in about) == 1
    assert found["lore"][-1]["ref"] == ""
    assert len(found["lore"]) > 1
    assert all("captured" not in one["about"] for one in nothing["lore"])


def test_at_most_two_captured_entries_are_shown_and_they_expire_after_two_weeks(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as engram:
        from engram.usecases.recording.record import Draft, prepare

        for number in range(5):
            text = f"{WHY} Seen in the upload test, part {number}."
            captured.keep(engram.store, prepare(engram.store, Draft(text, "FACT"))[0])
        assert len(find_captured(engram.store, PROMPT)) == MOST
        clock.advance(days=1)
        assert "captured yesterday, not confirmed" in append_captured(engram.store, "", PROMPT)
        clock.advance(days=13)
        assert find_captured(engram.store, PROMPT) == []
        assert captured.list_captured(engram.store) == []
