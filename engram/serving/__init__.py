"""Serve HTTP safely: tokens, origins, host names, rates and deadlines, for the HTTP API and MCP.

It is plain HTTP, on the loopback unless configured otherwise; on a network it belongs behind a proxy that speaks TLS.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.files import http_token
from engram.domain.errors import EngramError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp
    from uvicorn import Server

    from engram.serving.limits import Limits

TOKEN_VARIABLE = "ENGRAM_HTTP_TOKEN"  # noqa: S105 - the variable's name
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ALL_INTERFACES = ("0.0.0.0", "::", "")  # noqa: S104 - needs --allow-host
_SHUTDOWN_SECONDS = 2
_BACKLOG = 128  # connections
_LAST_PORT = 65535


class Address(NamedTuple):
    """Where to serve: an address, a port (0: any), and further host names that clients use.

    `proxies` are the addresses and networks whose `X-Forwarded-For` is trusted.
    """

    host: str
    port: int
    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()


def serve_app(
    build: Callable[[TransportSecuritySettings, str], ASGIApp],
    find_state: Callable[[], str],
    address: Address,
    path: str,
    limits: Limits,
    leave: Callable[[], None],
) -> int:
    """Serve an app until the process is ended, then call `leave`; returns the exit code.

    `build` makes the app from the transport rules and the token, `find_state` returns the folder of the token file, and
    `path` is where the app is below the host. Raises EngramError if it cannot start.
    """
    from engram.adapters import heap_limits

    heap_limits.limit_arenas()
    rules = transport_rules(address)
    token, place = load_token(find_state())
    listening = listen(address)
    port = listening.getsockname()[1]
    sys.stderr.write(f"Serving http://{host_in_url(address.host)}:{port}{path} · bearer token: {place}\n")
    sys.stderr.flush()
    app = build(rules, token)
    _raise_file_limit(4 * limits.waiting)
    if threading.current_thread() is threading.main_thread():
        # After its shutdown, uvicorn sends itself the signal again, which would end the process before `leave`.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server_of(app, address, limits).run(sockets=[listening])
    finally:
        leave()
    return 0


def server_of(app: ASGIApp, address: Address, limits: Limits) -> Server:
    """Return the server of an app that is behind an `Entrance`. Only the named proxies are trusted."""
    import uvicorn

    from engram.serving.connections import connection_class

    config = uvicorn.Config(
        app,
        http=connection_class(limits),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        proxy_headers=bool(address.proxies),
        forwarded_allow_ips=list(address.proxies),
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)


def _raise_file_limit(wanted: int) -> None:
    """Raise the limit of open files as far as the system allows: each connection takes one, and macOS allows 256."""
    if sys.platform != "win32":  # which has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with suppress(OSError, ValueError):  # serve with the old limit
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def check_packages() -> None:
    """Raise UsageError if the packages for serving HTTP are not installed."""
    try:
        import uvicorn  # noqa: F401 - only to see whether it is installed
    except ImportError:
        raise UsageError(
            "Serving HTTP needs more packages.", "Install them: pip install 'engram-lore[http]'"
        ) from None


def transport_rules(address: Address) -> TransportSecuritySettings:
    """Return the allowed Host and Origin headers: those of the loopback and of the given names. Raises UsageError."""
    from mcp.server.transport_security import TransportSecuritySettings

    if address.host in _ALL_INTERFACES and not address.names:
        raise UsageError(
            f"The address '{address.host}' listens on every network.",
            "Give the name that clients use for it: --allow-host NAME.",
        )
    names = dict.fromkeys((*_LOOPBACK, *map(host_in_url, address.names)))
    if address.host not in _ALL_INTERFACES:
        names[host_in_url(address.host)] = None
    hosts = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def load_token(state: str) -> tuple[str, str]:
    """Return the token that clients must send, and its place: a variable, else a file in the folder `state`.

    The file is created on first use, readable only by its owner. Raises UsageError, StoreError.
    """
    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    path = os.path.join(state, http_token.NAME)
    place = TOKEN_VARIABLE if given else path
    try:
        token = given or _create_token(path)
    except OSError as error:
        raise StoreError(
            f"The token file {path} cannot be used: {error.strerror}.", f"Set {TOKEN_VARIABLE} instead."
        ) from None
    if not http_token.is_token(token):
        raise UsageError(
            f"The token in {place} is invalid: it needs at least {http_token.SHORTEST} letters, digits or signs.",
            f"Set {TOKEN_VARIABLE}, or remove {path} (`engram doctor --fix` does) and a new one is made.",
        )
    return token, place


def _create_token(path: str) -> str:
    """Return the token in the file; create it if there is none."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(http_token.MOST_READ).strip()
    with os.fdopen(handle, "w", encoding="ascii") as file:
        token = secrets.token_urlsafe(32)
        file.write(f"{token}\n")
    return token


def listen(address: Address) -> socket.socket:
    """Return a socket that listens at the address. Raises UsageError, and EngramError if the system refuses."""
    if not 0 <= address.port <= _LAST_PORT:
        raise UsageError(f"There is no port {address.port}.", f"Ports: 0 (any free one) to {_LAST_PORT}.")
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host.strip("[]"), address.port), family=family)
    except OSError as error:
        raise EngramError(
            f"The server cannot listen at {address.host} port {address.port}: {error.strerror or error}.",
            "Choose another with --port" + ("." if address.host in _LOOPBACK else " or --host."),
        ) from None


def host_in_url(host: str) -> str:
    """Return a host as written in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
