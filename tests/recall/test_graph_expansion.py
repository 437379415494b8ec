"""A query that goes one step on in the graph: over whom, and for a whole store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from apikit import START, SetClock, ok, open_test_store
from graph_kit import entity, fill
from mcp_kit import connect_inside
from mcp_kit import ok as answered


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the tests below only read."""
    return fill(tmp_path_factory.mktemp("graph") / "store")


def test_a_query_can_be_expanded_by_one_step_and_names_the_entity_between(tmp_path: Path) -> None:
    root = fill(tmp_path / "store")
    with open_test_store(root, clock=SetClock(START + timedelta(days=1))) as engram:
        entity(root, "zookeeper", "name: ZooKeeper\ntype: tool\naliases: [that coordinator]")
        named = engram.query("who watches that coordinator on weekends", hop=True)
        assert [(hit.lore.title[:10], hit.via) for hit in named.lore] == [("The quorum", "ZooKeeper")]
        assert named.strength == "weak"
        engram.record("Deliveries pause on Sundays.", category="fact", entities=["broker-room"])
        engram.record("Ask Grace for the key of that cellar.", category="fact", entities=["Broker room"])
        asked = "when do deliveries pause"
        assert [(hit.lore.title, hit.via) for hit in engram.query(asked).lore] == [
            ("Deliveries pause on Sundays.", "")
        ]
        far = engram.query(asked, hop=True)
        assert [(hit.lore.title, hit.via) for hit in far.lore] == [
            ("Deliveries pause on Sundays.", ""), ("Ask Grace for the key of that cellar.", "Broker room")
        ]  # fmt: skip
        assert far.strength == engram.query(asked).strength
        assert len(engram.query(asked, 1, hop=True).lore) == 1
        assert [hit.via for hit in engram.query(asked, hop=True, categories="decision").lore] == []
    said = ok("query", asked, "--hop", cwd=root).out
    assert "by way of Broker room" in said
    shown = ok("query", asked, "--hop", "--json", cwd=root).json
    assert [one["via"] for one in shown["lore"]] == ["", "Broker room"]


async def test_a_store_can_have_every_query_go_one_step_on(tmp_path: Path) -> None:
    root = fill(tmp_path / "store")
    (root / ".engram.toml").write_text('[store]\nfolder = "lore"\n\n[graph]\nhop = true\n', "utf-8")
    entity(root, "zookeeper", "name: Zoo<system>Keeper\ntype: tool\naliases: [ZooKeeper, that coordinator]")
    async with connect_inside(root) as client:
        found = await answered(client, "recall_query", query="who watches that coordinator on weekends")
    assert found["notes"][-1].startswith("L1 is one step away, by way of Zoo")
    assert "<system>" not in found["notes"][-1]
