"""The server around the tools: its store and sessions, long work, and the cost of loading it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest
from apikit import QUEUE, cli
from mcp_kit import CACHE, CORE, connect_inside, ok, refused

from engram.domain.errors import UsageError
from engram.domain.recall import budget
from engram.mcp import folders
from engram.mcp.server import INSTRUCTIONS
from engram.mcp.tools import choose_sets, tools_of

if TYPE_CHECKING:
    from pathlib import Path


MOST_TOKENS, MOST_WITHOUT_OUTPUTS = 1800, 1050


# --- what it costs an agent


async def test_the_core_set_costs_an_agent_little_context(root: Path) -> None:
    """At four characters a token, as everywhere here; three tokenizers of language models count 2 to 10 % less."""
    async with connect_inside(root) as client:
        listed = (await client.list_tools()).tools
    tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
    assert len(tools) == len(CORE) <= 6
    assert budget.tokens(json.dumps(tools, separators=(",", ":")) + INSTRUCTIONS) <= MOST_TOKENS
    bare = [{name: value for name, value in tool.items() if name != "outputSchema"} for tool in tools]
    assert budget.tokens(json.dumps(bare, separators=(",", ":"))) <= MOST_WITHOUT_OUTPUTS


# --- tool sets


def test_tool_sets_are_chosen_by_name() -> None:
    assert choose_sets(" core, CORE ") == ("core",)
    assert [tool.name for tool in tools_of(choose_sets("all"))][: len(CORE)] == list(CORE)
    for wrong in ("wisdom", "core,wisdom", "", ","):
        with pytest.raises(UsageError) as error:
            choose_sets(wrong)
        assert "core, " in error.value.hint


def test_an_unknown_set_and_json_are_usage_errors(root: Path) -> None:
    assert cli("mcp", "--tools", "wisdom", cwd=root).code == 2
    result = cli("mcp", "--json", cwd=root)
    assert result.code == 2
    assert result.json["error"]["code"] == "usage"


# --- which store


async def test_a_client_that_does_not_list_its_roots_is_served(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.chdir(root)

    async def silent(_context: object) -> None:
        await anyio.sleep_forever()

    async with connect_inside(None, list_roots_callback=silent) as client:
        assert (await ok(client, "recall_status"))["store"] == str(root)


# --- whose session


async def test_refs_continue_across_calls_and_belong_to_the_agents_session(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "c1")
    async with connect_inside(root) as client:
        await ok(client, "recall_record", content=QUEUE, category="fact")
        made = await ok(client, "recall_record", content=CACHE, category="fact")
        (first,) = (await ok(client, "recall_query", query="queue consumers", k=1))["lore"]
        (second,) = (await ok(client, "recall_query", query="session cache warmed", k=1))["lore"]
        assert (first["ref"], second["ref"]) == ("L1", "L2")
        assert second["about"] == "fact · claude-code · today"
        reflect = (await client.get_prompt("reflect", {"outcome": "It works."})).messages[0].content.text
        assert "> L2 · The session cache is warmed" in reflect
        assert reflect.endswith("Outcome: It works.")
        assert "> L1 · " in (await client.read_resource("lore://session")).contents[0].text
    judged = cli("feedback", "--helpful", "L2", "--json", "--store", str(root), ENGRAM_SESSION="c1").json
    assert judged["updated"][0]["id"] == made["id"]


async def test_each_server_without_a_named_session_has_its_own(root: Path) -> None:
    async with connect_inside(root) as one, connect_inside(root) as other:
        await ok(one, "recall_record", content=QUEUE, category="fact")
        await ok(one, "recall_query", query="queue consumers")
        assert "not been shown any entry yet" in await refused(other, "recall_feedback", helpful=["L1"])


# --- long work


def filled(root: Path, count: int) -> Path:
    """A store with files that no index knows yet."""
    for number in range(count):
        (root / "lore" / f"note-{number}.md").parent.mkdir(parents=True, exist_ok=True)
        (root / "lore" / f"note-{number}.md").write_text(
            f"Note {number}: consumers of queue {number} retry.\n"
        )
    return root


async def test_the_first_query_of_a_large_store_reports_progress(root: Path) -> None:
    filled(root, 200)
    told: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with connect_inside(root) as client:
        found = await client.call_tool("recall_query", {"query": "queue 7 consumers"}, progress_callback=note)
    assert found.structured_content["lore"]
    assert told[0] == (0, 200, "indexing 0 of 200")
