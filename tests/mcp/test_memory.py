"""The store behind a server: found when needed, reported if missing, and never blocking an agent."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import pytest
from apikit import QUEUE, dedicated, make_plain_store
from mcp import MCPError
from mcp_kit import connect_inside, ok, refused

from engram.adapters.files.durable.lock import FileLock
from tests.mcp.test_server import filled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.mcp.memory import Memory


async def test_a_store_made_while_the_server_runs_is_used_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    async with connect_inside(None) as client:
        assert (await ok(client, "recall_status"))["scope"] == "user"
        make_plain_store(project)
        assert (await ok(client, "recall_status"))["store"] == str(project)


async def test_a_missing_store_is_reported_and_used_once_created(tmp_path: Path) -> None:
    root = tmp_path / "later"
    async with connect_inside(root) as client:
        said = await refused(client, "recall_query", query="x")
        assert said == f"There is no store at {root} or above it. Create one: engram init {root}"
        prompt = (await client.get_prompt("recall", {"task": "bake"})).messages[0].content.text
        assert "Go on without it" in prompt
        make_plain_store(root)
        assert (await ok(client, "recall_query", query="x"))["strength"] == "none"


async def test_an_unwritable_home_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_DATA_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    async with connect_inside(None) as client:
        assert "cannot" in await refused(client, "recall_record", content=QUEUE, category="fact")
        with pytest.raises(MCPError):
            await client.read_resource("lore://recent")
        assert (await client.list_tools()).tools


async def test_a_cancelled_call_stops_its_work_and_the_next_one_is_answered(root: Path) -> None:
    filled(root, 2000)
    async with connect_inside(root) as client:
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


async def test_a_hanging_store_is_reported_and_the_agent_continues(root: Path) -> None:
    async with connect_inside(root) as client:
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


async def test_a_long_write_of_another_process_blocks_no_call(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    async with connect_inside(root) as client:
        await ok(client, "recall_status")
        with FileLock(str(client.memory.engram.store.files.lock().path)), impatient(client.memory):
            assert "still busy" in await refused(client, "recall_record", content=QUEUE, category="fact")
