"""`engram serve`: the HTTP API."""

from __future__ import annotations

from engram.cli import server_options
from engram.cli.invocation import Call

DESCRIPTION = (
    "Serve this memory over an HTTP API with a bearer token, for programs that use neither MCP nor the command\n"
    "line. By default it listens only on this machine. It needs the extra engram-lore[http]."
)
EXAMPLES = (
    "engram serve                              # says where its token is",
    "engram serve --port 9000 --store ~/notes",
    "engram serve --host 10.0.0.5 --allow-host lore.example   # behind a proxy that speaks TLS",
    "engram serve --allow-host lore.example --trust-proxy 127.0.0.1       # a proxy on this machine",
)
ARGUMENTS = server_options.declare(8849)


def run(call: Call) -> int:
    address, limits = server_options.read(call)
    from engram.serving import check_packages

    check_packages()
    from engram.http.server import serve_api
    from engram.mcp.memory import Memory, Opening

    return serve_api(Memory(Opening(call.arguments.store, call.scope, ask=False)), address, limits)
