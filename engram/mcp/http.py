"""The MCP server over streamable HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import serving

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from engram.mcp.memory import Memory

PATH = "/mcp"


def serve_http(server: MCPServer[object], memory: Memory, address: serving.Address) -> int:
    """Serve until the process is ended; returns the exit code. Raises EngramError where it cannot begin."""
    serving.check_packages()
    rules = serving.transport_rules(address)
    token, place = serving.token_of(memory.engram.store.places.state)
    listening = serving.listen(address)
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=rules)
    serving.announce(address, listening, PATH, place)
    return serving.serve(serving.guarded(app, token), listening, memory.leave)
