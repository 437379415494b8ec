"""Write `engram/mcp/handshake.json`, the SDK's answers to a client's first requests: `python tools/generate_handshake.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.mcp.handshake import DATA

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSIONS = (
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
)  # those with `initialize`, the newest last
_SERVER = """
import anyio
from engram.mcp.memory import Memory, Opening
from engram.mcp.server import build
anyio.run(build(Memory(Opening())).run_stdio_async)
"""


def collect_answers(versions: Sequence[str]) -> dict[str, Any]:
    """Ask the SDK's server in a process of its own. Raises ValueError if an answer depends on the version."""
    results = [_ask(version) for version in versions]
    if any(one != results[0] for one in results):
        raise ValueError("the answers to initialize or tools/list depend on the version of the protocol")
    return {**results[0], "versions": VERSIONS}


def text(versions: Sequence[str] = VERSIONS) -> str:
    """Return the contents of the file, for clients of these versions."""
    return json.dumps(collect_answers(versions), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _ask(version: str) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    messages = (
        {"id": 1, "method": "initialize", "params": params},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        results = []
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            if "id" in message:
                results.append(json.loads(server.stdout.readline())["result"])
        server.stdin.close()
    initialized, listed = results
    if initialized.pop("protocolVersion") != version:
        raise ValueError(f"the SDK does not speak version {version}")
    del initialized["serverInfo"]["version"]
    return {"initialize": initialized, "tools": listed["tools"]}


if __name__ == "__main__":
    Path(DATA).write_text(text(), "utf-8")
