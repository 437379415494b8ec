"""The server as an agent starts it: a process with two pipes, and all kinds of misuse of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from apikit import dedicated, git, lore_files, make_plain_store, open_test_store, variables
from effort import examples, sampled
from mcp_kit import CACHE, CORE, ERAS, QUEUE, Raw, answer_with, connect_apart, ok, roots_in
from mcp_types import PromptReference, ResourceTemplateReference

HEAVY = r"tantivy|numpy|usearch|tokenizers|model\.safetensors|catalog\.db"
CHATTER = """
import os, sys
class Chatter:
    def find_spec(self, name, path=None, target=None):
        if name == "engram.app":
            print("chatter", flush=True)
            os.write(1, b"more chatter\\n")
sys.meta_path.insert(0, Chatter())
"""
REQUEST = (
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":'
    b'{"name":"recall_record","arguments":{"category":"fact","content":"%s"}}}'
)


@sampled("era", ERAS)
async def test_the_official_client_drives_everything(root: Path, tmp_path: Path, era: str) -> None:
    options = {
        "elicitation_callback": answer_with("accept", agreed=True),
        "list_roots_callback": roots_in(root),
    }
    async with connect_apart(cwd=tmp_path, era=era, more={"ENGRAM_SESSION": ""}, **options) as client:
        assert client.server_info.name == "engram"
        assert "recall_query" in client.instructions
        called = set()

        async def call(tool: str, **arguments: object) -> dict[str, object]:
            called.add(tool)
            return await ok(client, tool, **arguments)

        assert (await call("recall_status"))["store"] == str(root)  # the client's folder, not the server's
        made = await call("recall_record", content=QUEUE, category="fact", tags=["queue"])
        await call("recall_query", query="queue consumers")
        await call("recall_feedback", helpful=["L1"])
        await call("recall_get", refs=["L1"])
        assert QUEUE.splitlines()[0] in (await client.read_resource(f"lore://{made['id']}")).contents[0].text
        prompt = (await client.get_prompt("recall", {"task": "consume a queue"})).messages[0].content.text
        assert "> Brokers deliver twice" in prompt
        template, begun = ResourceTemplateReference(uri="lore://{id}"), {"name": "id", "value": "l"}
        assert (await client.complete(template, begun)).completion.values == ["L1"]
        tag = await client.complete(PromptReference(name="recall"), {"name": "tag", "value": "Q"})
        assert tag.completion.values == ["queue"]
        await call("recall_forget", refs=["L1"])
    assert called == set(CORE)
    assert lore_files(root) == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    """A server in a process that prints where it should not, with a standard error that nobody reads."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "sitecustomize.py").write_text(CHATTER)
    paths = os.pathsep.join([str(folder), variables()["PYTHONPATH"]])
    root = make_plain_store(folder / "store")
    with Raw("--store", str(root), cwd=folder, PYTHONPATH=paths, ENGRAM_TRACEBACK="1") as found:
        yield found
        began = time.monotonic()
        assert found.end() == 0
        assert time.monotonic() - began < 10


def test_initialize_is_answered_before_anything_is_opened(server: Raw) -> None:
    assert server.hello["result"]["serverInfo"]["name"] == "engram"
    assert not [name for name in server.loaded_at_hello if re.search(HEAVY, name)]


@pytest.mark.slow
def test_it_loads_nothing_that_only_http_or_a_terminal_needs() -> None:
    code = """
import sys
from engram.mcp import stdio
stdio._load()
from engram.mcp.memory import Memory, Opening
from engram.mcp.server import build
build(Memory(Opening(None, "")))
print([name for name in ("uvicorn", "click", "rich", "numpy") if name in sys.modules])
import rich.console, uvicorn
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_stray_output_does_not_reach_the_protocol(server: Raw) -> None:
    said = server.call(1, "recall_status")  # opening the store imports what prints
    assert said["structuredContent"]["strategy"] == "hybrid"


def test_invalid_input_does_not_stop_the_server(server: Raw) -> None:
    for bad in (
        b"", b"{}", b"null", b"\xff\xfe\0", b"[" * 100_000, b"x" * 10_000_000, b'{"jsonrpc":"2.0"',
        b'{"jsonrpc":"2.0","id":9,"method":5}', b'[{"jsonrpc":"2.0","id":9,"method":"ping"}]',
    ):  # fmt: skip
        server.line(bad)
    assert server.request(11, "ping")["result"] == {}
    said = server.call(12, "recall_record", content="y" * 10_000_000, category="fact")
    assert said["isError"]
    assert "at most 4,000 fit" in said["content"][0]["text"]
    assert server.call(13, "recall_query", query="y" * 10_000_000)["isError"]
    assert "Unknown tool" in server.call(14, "recall_everything")["content"][0]["text"]
    assert server.request(15, "resources/read", {"uri": "lore://../../x"})["error"]["code"] == -32602
    assert server.request(16, "tools/dance")["error"]["code"] == -32601


@pytest.mark.slow
def test_a_client_that_never_reads_standard_error_is_not_blocked(server: Raw) -> None:
    for number in range(100, 200):  # a page of traceback each: more than any pipe holds
        assert "error" in server.request(number, "prompts/get", {"name": "nothing"})
    assert server.request(200, "ping")["result"] == {}


@pytest.mark.slow
def test_acknowledged_writes_survive_a_kill_and_are_committed_at_the_end(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    with Raw("--store", str(root), cwd=tmp_path) as server:
        made = server.call(1, "recall_record", content=QUEUE, category="fact")["structuredContent"]
        server.line(REQUEST % b"in flight")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with Raw("--store", str(root), cwd=tmp_path) as server:
        whole = server.call(1, "recall_get", refs=[made["id"]])["structuredContent"]["lore"][0]
        assert whole["content"] == QUEUE
        later = server.call(2, "recall_record", content=CACHE, category="fact")["structuredContent"]
        assert server.end() == 0
    assert {made["id"], later["id"]} <= set(git(root, "log", "--format=%B").split())
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.slow
async def test_several_servers_share_one_store(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    servers, each = examples(2, 4), 3

    async def agent(number: int) -> None:
        async with connect_apart(
            "--store", str(root), cwd=tmp_path, more={"ENGRAM_SESSION": f"agent {number}"}
        ) as client:
            for turn in range(each):
                lesson = f"Lesson {turn} of agent {number}: {CACHE if turn else QUEUE}"
                await ok(client, "recall_record", content=lesson, category="fact")
                found = await ok(client, "recall_query", query=lesson, k=20)
                assert lesson in [lore["text"] for lore in found["lore"]] or "also" in found
            await ok(client, "recall_feedback", helpful=["L1"])

    async with anyio.create_task_group() as group:
        for number in range(servers):
            group.start_soon(agent, number)
    assert len(lore_files(root)) == servers * each
    with open_test_store(root) as engram:
        assert engram.list().total == servers * each
    assert git(root, "status", "--porcelain") == ""
