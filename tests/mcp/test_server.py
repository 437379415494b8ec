"""The server around the tools: which store it serves, whose session it is, work that is long, and what it costs to load."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import pytest
from apikit import QUEUE, cli, dedicated, plain
from mcp import MCPError
from mcp_kit import CACHE, CORE, inside, ok, refused

from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import UsageError
from engram.domain.recall import budget
from engram.mcp import folders
from engram.mcp.server import INSTRUCTIONS
from engram.mcp.tools import choose_sets, tools_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.mcp.memory import Memory

MOST_TOKENS, MOST_WITHOUT_OUTPUTS = 1800, 1050


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plain(tmp_path / "store")


# --- what it costs an agent


async def test_the_core_set_costs_an_agent_little_context(root: Path) -> None:
    """At four characters a token, as everywhere here; three tokenizers of language models count 2 to 10 % less."""
    async with inside(root) as client:
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


def test_a_wrong_set_or_json_is_a_usage_error(root: Path) -> None:
    assert cli("mcp", "--tools", "wisdom", cwd=root).code == 2
    result = cli("mcp", "--json", cwd=root)
    assert result.code == 2
    assert result.json["error"]["code"] == "usage"


# --- which store


async def test_a_client_that_does_not_answer_is_served_anyway(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.chdir(root)

    async def silent(_context: object) -> None:
        await anyio.sleep_forever()

    async with inside(None, list_roots_callback=silent) as client:
        assert (await ok(client, "recall_status"))["store"] == str(root)


async def test_a_store_made_while_the_server_runs_is_used_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    async with inside(None) as client:
        assert (await ok(client, "recall_status"))["scope"] == "user"
        plain(project)
        assert (await ok(client, "recall_status"))["store"] == str(project)


async def test_a_missing_store_is_told_and_used_once_it_is_made(tmp_path: Path) -> None:
    root = tmp_path / "later"
    async with inside(root) as client:
        said = await refused(client, "recall_query", query="x")
        assert said == f"There is no store at {root} or above it. Create one: engram init {root}"
        prompt = (await client.get_prompt("recall", {"task": "bake"})).messages[0].content.text
        assert "Go on without it" in prompt
        plain(root)
        assert (await ok(client, "recall_query", query="x"))["strength"] == "none"


async def test_a_home_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_DATA_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    async with inside(None) as client:
        assert "cannot" in await refused(client, "recall_record", content=QUEUE, category="fact")
        with pytest.raises(MCPError):
            await client.read_resource("lore://recent")
        assert (await client.list_tools()).tools


# --- whose session


async def test_refs_go_on_across_calls_and_are_those_of_the_agents_session(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "c1")
    async with inside(root) as client:
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


async def test_each_server_without_a_named_session_is_one_of_its_own(root: Path) -> None:
    async with inside(root) as one, inside(root) as other:
        await ok(one, "recall_record", content=QUEUE, category="fact")
        await ok(one, "recall_query", query="queue consumers")
        assert "was not shown any lore yet" in await refused(other, "recall_feedback", helpful=["L1"])


# --- long work


def filled(root: Path, count: int) -> Path:
    """A store with files that no index knows yet."""
    for number in range(count):
        (root / "lore" / f"note-{number}.md").parent.mkdir(parents=True, exist_ok=True)
        (root / "lore" / f"note-{number}.md").write_text(
            f"Note {number}: consumers of queue {number} retry.\n"
        )
    return root


async def test_the_first_query_of_a_large_store_tells_its_progress(root: Path) -> None:
    filled(root, 200)
    told: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with inside(root) as client:
        found = await client.call_tool("recall_query", {"query": "queue 7 consumers"}, progress_callback=note)
    assert found.structured_content["lore"]
    assert told[0] == (0, 200, "indexing 0 of 200")


async def test_a_cancelled_call_stops_its_work_and_the_next_one_is_answered(root: Path) -> None:
    filled(root, 2000)
    async with inside(root) as client:
        with anyio.CancelScope() as scope:

            async def cancel(*_: object) -> None:
                scope.cancel()

            await client.call_tool("recall_query", {"query": "queue"}, progress_callback=cancel)
        assert scope.cancelled_caught
        store = client.memory.engram.store

        def left() -> bool:
            with store.lock:  # the work has ended when its lock is free
                return store.index.look() is not None

        assert not await anyio.to_thread.run_sync(left)
        assert (await client.list_tools()).tools


@contextmanager
def impatient(memory: Memory) -> Iterator[None]:
    """A server that waits for 0.3 seconds: only while something hangs, because a busy machine may need as long."""
    opening = memory._opening
    memory._opening = opening._replace(patience=0.3)
    try:
        yield
    finally:
        memory._opening = opening


async def test_a_store_that_hangs_is_told_and_its_agent_goes_on(root: Path) -> None:
    async with inside(root) as client:
        await ok(client, "recall_status")
        store = client.memory.engram.store
        ready, done = threading.Event(), threading.Event()

        def hold() -> None:
            with store.lock:
                ready.set()
                done.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        ready.wait()
        try:
            with impatient(client.memory):
                said = await refused(client, "recall_record", content=QUEUE, category="fact")
            assert "still busy after 0.3 seconds" in said
            assert (await client.list_tools()).tools
        finally:
            done.set()
            holder.join()
        assert not (await client.call_tool("recall_status")).is_error


async def test_another_process_that_writes_for_long_blocks_nobody(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    async with inside(root) as client:
        await ok(client, "recall_status")
        with FileLock(str(client.memory.engram.store.files.lock().path)), impatient(client.memory):
            assert "still busy" in await refused(client, "recall_record", content=QUEUE, category="fact")
