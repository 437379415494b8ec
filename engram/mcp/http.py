"""The MCP server over streamable HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import serving

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp

    from engram.mcp.memory import Memory
    from engram.serving.limits import Limits
    from engram.serving.request_checks import RefusedError

PATH = "/mcp"


def build(server: MCPServer[object], rules: TransportSecuritySettings, token: str, limits: Limits) -> ASGIApp:
    """Return the app of an MCP server behind checks of the token, hosts, origins and limits."""
    from engram.serving.request_checks import Entrance

    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=rules)
    return Entrance(app, rules, token, limits, _refusal)


def serve_http(server: MCPServer[object], memory: Memory, address: serving.Address, limits: Limits) -> int:
    """Serve until the process is ended; returns the exit code. Raises EngramError if it cannot start."""
    serving.check_packages()
    return serving.serve_app(
        lambda rules, token: build(server, rules, token, limits),
        lambda: memory.engram.store.places.state,
        address, PATH, limits, memory.leave,
    )  # fmt: skip


def _refusal(refused: RefusedError, _path: str) -> ASGIApp:
    """Return the answer to a refused request in the terms of OAuth, which MCP clients understand."""
    from starlette.responses import JSONResponse

    error = "invalid_token" if refused.status == 401 else refused.code
    content = {"error": error, "error_description": f"{refused.message} {refused.hint}"}
    return JSONResponse(content, refused.status, refused.headers)
