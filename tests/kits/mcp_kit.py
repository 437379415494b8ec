"""MCP servers for tests: by the official client, in this process or another, and by raw lines for invalid messages."""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from apikit import variables
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, ListRootsResult, Root

from engram.mcp import server
from engram.mcp.memory import Memory, Opening
from engram.mcp.tools import CORE as CORE_SET
from engram.mcp.tools import tools_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from mcp_types import CallToolResult

ERAS = ("legacy", "auto")  # with the `initialize` handshake; the newest protocol, without one
COMMAND = ("-m", "engram", "mcp")
CORE = (
    "recall_query", "recall_record", "recall_feedback", "recall_get", "recall_forget", "recall_status"
)  # fmt: skip
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
QUEUE = "Queue consumers must be idempotent.\n\nBrokers deliver twice after a missed ack."
CACHE = "The session cache is warmed at start, which takes a minute."


_tools_of = functools.cache(tools_of)  # making the tools of all sets takes 90 ms


@asynccontextmanager
async def connect_inside(root: Path | None, era: str = "legacy", **options: Any) -> AsyncIterator[Client]:
    """Open the official client of a server in this process. `ask`, `scope` and `sets` go to the server."""
    sets = options.pop("sets", (CORE_SET,))
    opening = {name: options.pop(name) for name in ("ask", "scope") if name in options}
    memory = Memory(Opening(str(root) if root else None, **opening))
    with mock.patch.object(server, "tools_of", _tools_of):
        made = server.build(memory, sets)
    try:
        async with Client(made, mode=era, **options) as client:
            client.memory = memory
            yield client
    finally:
        memory.close()


@asynccontextmanager
async def connect_apart(
    *arguments: str, cwd: Path, era: str = "legacy", more: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Client]:
    """Open the official client of a server in a process of its own."""
    server = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, *arguments], cwd=cwd, env=variables(**(more or {}))
    )
    async with Client(server, mode=era, **options) as client:
        yield client


async def ok(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, which must succeed with a text, and return its data."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text(result)
    assert text(result)
    assert result.structured_content is not None
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool, which must fail, and return its message."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text(result)


def text(result: CallToolResult) -> str:
    """Return the text of a result, which must be one block."""
    (block,) = result.content
    return block.text


def answer_with(action: str, **content: Any) -> Any:
    """Return a callback that answers every question in this way."""

    async def answer(_context: Any, _question: Any) -> ElicitResult:
        return ElicitResult(action=action, content=content or None)

    return answer


def roots_in(*folders: Path) -> Any:
    """Return a callback for the roots of a client that works in these folders."""

    async def roots(_context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=folder.as_uri()) for folder in folders])

    return roots


class Raw:
    """A server process driven by raw lines; standard error goes to a pipe that nothing reads."""

    def __init__(self, *arguments: str, cwd: Path, handshake: bool = True, **more: str) -> None:
        command = [sys.executable, *COMMAND, *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=cwd, env=variables(**more), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )
        if not handshake:
            return
        self.hello = self.request(0, "initialize", HELLO)
        maps = Path(f"/proc/{self.process.pid}/maps")
        self.loaded_at_hello = maps.read_text().splitlines() if maps.exists() else []
        self.line({"method": "notifications/initialized"})

    def line(self, message: dict[str, Any] | bytes) -> None:
        """Send a message, or raw bytes."""
        raw = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        raw += b"\n"
        while raw:  # a pipe may accept only a part
            raw = raw[os.write(self.process.stdin.fileno(), raw) :]

    def request(self, number: int, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer, skipping other messages; fail after 30 seconds."""
        self.line({"id": number, "method": method, "params": params or {}})
        while True:
            answer = self.read()
            if answer.get("id") == number:
                return answer

    def read(self) -> dict[str, Any]:
        """Wait for the next message; fail after 30 seconds."""
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        assert ready, "no answer"
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def call(self, number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return self.request(number, "tools/call", {"name": tool, "arguments": arguments})["result"]

    def end(self) -> int:
        """Close the input, as a client does that exits, and return the exit code."""
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if not stream.closed:
                stream.close()
