"""`engram serve`: the HTTP API."""

from __future__ import annotations

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from engram.cli.call import Call

DESCRIPTION = (
    "Serve this memory by an HTTP API, with a bearer token, for programs that speak neither MCP nor the command\n"
    "line. It listens to this machine alone unless told otherwise, and needs the extra engram-lore[http]."
)
EXAMPLES = (
    "engram serve                              # says where its token is",
    "engram serve --port 9000 --store ~/notes",
    "engram serve --host 10.0.0.5 --allow-host lore.example   # behind a proxy that speaks TLS",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="the address (default: 127.0.0.1)")
    add("--port", type=int, default=8849, metavar="N", help="the port (default: 8849; 0: any)")
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which clients may reach it, besides the loopback's (repeatable)",
    )
    add(
        "--rate",
        type=int,
        default=1200,
        metavar="N",
        help="requests a minute from one address (default: 1200; 0: any)",
    )


def run(call: Call) -> int:
    """Serve until the process is ended."""
    from engram.serving import Address, check_packages

    given = call.arguments
    if call.output.json:
        raise UsageError("A server prints no JSON document.", "Leave out --json.")
    if given.rate < 0:
        raise UsageError(
            f"The rate must not be negative, but is {given.rate}.", "0 takes any number of requests."
        )
    check_packages()
    from engram.http.server import serve_api
    from engram.mcp.memory import Memory, Opening

    memory = Memory(Opening(given.store, call.scope, ask=False))
    return serve_api(memory, Address(given.host, given.port, tuple(given.allow_host)), given.rate)
