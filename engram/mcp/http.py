"""The MCP server over streamable HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram import serving
from engram.adapters import heap_limits

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp

    from engram.mcp.memory import Memory
    from engram.serving.limits import Limits
    from engram.serving.request_checks import RefusedError

PATH = "/mcp"


def build(server: MCPServer[object], rules: TransportSecuritySettings, token: str, limits: Limits) -> ASGIApp:
    """The app of an MCP server, for callers with the token by way of these hosts."""
    from engram.serving.request_checks import Entrance

    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=rules)
    return Entrance(app, rules, token, limits, _refusal)


def serve_http(server: MCPServer[object], memory: Memory, address: serving.Address, limits: Limits) -> int:
    """Serve until the process is ended; returns the exit code. Raises EngramError where it cannot begin."""
    serving.check_packages()
    heap_limits.limit_arenas()
    rules = serving.transport_rules(address)
    token, place = serving.token_of(memory.engram.store.places.state)
    listening = serving.listen(address)
    serving.announce(address, listening, PATH, place)
    return serving.serve(build(server, rules, token, limits), listening, address, limits, memory.leave)


def _refusal(refused: RefusedError, _path: str) -> ASGIApp:
    """An answer in the words of OAuth, which MCP clients understand."""
    from starlette.responses import JSONResponse

    error = "invalid_token" if refused.status == 401 else refused.code
    content = {"error": error, "error_description": f"{refused.message} {refused.hint}"}
    return JSONResponse(content, refused.status, refused.headers)
