"""`engram mcp`: the MCP server for coding agents."""

from __future__ import annotations

from engram.cli import server_options
from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch

DESCRIPTION = (
    "Serve this memory to a coding agent over the Model Context Protocol: over standard input and\n"
    "output (the agent starts it), or over HTTP with a bearer token."
)
EXAMPLES = (
    "engram mcp                                # what an agent's configuration runs",
    "engram mcp --tools all --store ~/notes",
    "engram mcp --http --port 8848             # says where its token is",
)
ARGUMENTS = (
    argument("--tools", "SETS", "tool sets, separated by commas, or all (default: core)", default="core"),
    switch("--http", "serve HTTP (needs the extra engram-lore[http])"),
    *server_options.declare(8848, "with --http: "),
)


def run(call: Call) -> int:
    """Serve until the client disconnects (stdio) or the process is ended (HTTP)."""
    from engram.mcp.tools import choose_sets

    given = call.arguments
    address, limits = server_options.read(call)
    sets = choose_sets(given.tools)
    if not given.http:
        from engram.mcp.stdio import serve

        serve(sets, given.store, call.scope)
    from engram.mcp.http import serve_http
    from engram.mcp.memory import Memory, Opening
    from engram.mcp.server import build

    memory = Memory(Opening(given.store, call.scope, ask=False))
    return serve_http(build(memory, sets), memory, address, limits)
