"""Serve a store by MCP over HTTP on the loopback without a token, for tools/check_mcp.sh only.

Usage: python tools/open_mcp.py STORE      The conformance suite cannot send a token.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engram.mcp.http import PATH
from engram.mcp.memory import Memory, Opening
from engram.mcp.server import build
from engram.serving import Address, transport_rules


def main(store: str) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    address = Address("127.0.0.1", listening.getsockname()[1])
    server = build(Memory(Opening(store, ask=False)))
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=transport_rules(address))
    print(f"Serving http://{address.host}:{address.port}{PATH}", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1])
