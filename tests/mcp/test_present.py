"""Answers to agents, within the token budget."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from apikit import open_test_store
from mcp_kit import connect_inside, ok

from engram.domain.agents.framing import SEVERAL
from engram.domain.recall import budget

if TYPE_CHECKING:
    from pathlib import Path


async def test_an_answer_keeps_to_the_budget(root: Path) -> None:
    with open_test_store(root) as engram:
        for number in range(8):
            engram.record(
                f"Queue lesson {number}: " + f"consumers of queue {number} retry. " * 60, category="fact"
            )
    async with connect_inside(root) as client:
        result = await client.call_tool("recall_query", {"query": "queue consumers retry"})
    found, said = result.structured_content, result.content[0].text
    assert len(found["lore"]) + len(found["also"]) == 5, "none of them stands out"
    assert all("excerpt, recall_get has all" in lore["about"] for lore in found["lore"])
    assert all(lore["text"].startswith("Queue lesson") for lore in found["lore"])
    assert all(lore["text"].endswith("retry.") for lore in found["lore"]), "not inside a sentence"
    assert all(f"> {ref} {title}" in said for ref, title in found["also"].items())
    assert budget.tokens(said) <= 500
    assert budget.tokens(json.dumps(found, separators=(",", ":"))) <= 500


async def test_three_quarters_of_an_answer_is_lore_and_each_entry_is_whole(root: Path) -> None:
    notes = [
        f"Consumers of queue {number} retry {number} times\n\nThe broker of queue {number} delivers a message again when an "
        f"ack is missed, so the handlers of queue {number} keep the ids of the last {number} hours and drop what they know. "
        f"Without that an order of queue {number} was billed twice, which nobody noticed before the end of the month."
        for number in range(8)
    ]
    with open_test_store(root) as engram:
        for note in notes:
            engram.record(note, category="DEPENDENCY_BEHAVIOR")
    async with connect_inside(root) as client:
        found = await ok(client, "recall_query", query="queue consumers retry")
    texts = [lore["text"] for lore in found["lore"]]
    assert (found["strength"], len(texts)) == ("weak", 5), "eight alike: none stands out"
    assert found["notes"] == [SEVERAL]
    assert set(texts) <= set(notes)
    assert sum(map(len, texts)) >= 0.75 * len(json.dumps(found, ensure_ascii=False, separators=(",", ":")))
    assert max(budget.tokens(f"{lore['ref']} {lore['about']}") for lore in found["lore"]) <= 20


async def test_a_weak_answer_shows_three_entries_and_others_that_score_nearly_as_much(root: Path) -> None:
    question = "who keeps backups for a month"
    near = "Keep the month of a bill apart from that of its order"
    with open_test_store(root) as engram:
        for region in ("one", "two", "three"):
            engram.record(f"Backups of region {region} run nightly and are kept for a month", category="FACT")
        for text in (near, "The backups folder of the laptop is ignored by git"):
            engram.record(text, category="FACT")
        answered = engram.query(question)
        shares = [hit.score.total / answered.lore[0].score.total for hit in answered.lore]
        assert answered.strength == "weak"
        assert shares[3] > 0.6 > shares[4]
    async with connect_inside(root) as client:
        found = await ok(client, "recall_query", query=question)
    assert [lore["text"] for lore in found["lore"]][3:] == [near]
