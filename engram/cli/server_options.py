"""The arguments of commands that serve HTTP."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import Argument, argument, repeatable
from engram.domain.errors import UsageError
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.serving import Address
    from engram.serving.limits import Limits


def declare(port: int, when: str = "") -> list[Argument]:
    """Declare the arguments. `port` is the default port, `when` a prefix of each help text."""
    return [
        argument("--host", "ADDRESS", f"{when}the address (default: 127.0.0.1)", default="127.0.0.1"),
        argument("--port", "N", f"{when}the port (default: {port}; 0: any)", type=int, default=port),
        repeatable(
            "--allow-host", "NAME", f"{when}a host name that clients may use, in addition to the loopback's"
        ),
        repeatable(
            "--trust-proxy",
            "ADDRESS",
            f"{when}an address or network (10.0.0.0/8) whose X-Forwarded-For names the client",
        ),
        argument(
            "--rate",
            "N",
            f"{when}the most requests a minute from each client with the token (default: 1200; 0: no limit)",
            type=int,
            default=1200,
        ),
    ]


def read(call: Call) -> tuple[Address, Limits]:
    """Return the address and the limits of the server. Raises UsageError for an invalid value."""
    from ipaddress import ip_network

    from engram.serving import Address
    from engram.serving.limits import Limits

    given = call.arguments
    if call.output.json:
        raise UsageError("A server has no JSON output.", "Leave out --json.")
    for proxy in given.trust_proxy:
        try:
            ip_network(proxy)
        except ValueError:
            raise UsageError(
                f"'{safe_text(proxy)[:100]}' is neither an IP address nor a network.",
                "Name the proxy as 10.0.0.5, fd00::5 or 10.0.0.0/24.",
            ) from None
    if given.rate < 0:
        raise UsageError(f"The rate must not be negative, but is {given.rate}.", "Use 0 for no limit.")
    address = Address(given.host, given.port, tuple(given.allow_host), tuple(given.trust_proxy))
    return address, Limits(rate=given.rate)
