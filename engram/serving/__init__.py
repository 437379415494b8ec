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
_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - to be noticed
_GOODBYE_SECONDS = 2
_ACCEPTED_AT_ONCE = 128
_LAST_PORT = 65535


class Address(NamedTuple):
    """Where to serve: an address, a port (0: any), and further names by which clients reach it.

    `proxies` are the addresses and networks whose `X-Forwarded-For` is believed.
    """

    host: str
    port: int
    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()


def serve(
    app: ASGIApp, listening: socket.socket, address: Address, limits: Limits, leave: Callable[[], None]
) -> int:
    """Serve until the process is ended, then `leave`; returns the exit code. Raises UsageError without the packages."""
    _allow_files(4 * limits.waiting)
    if threading.current_thread() is threading.main_thread():
        # uvicorn ends in order and then sends itself the signal again, which would end the process before `leave`.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server_of(app, address, limits).run(sockets=[listening])
    finally:
        leave()
    return 0


def server_of(app: ASGIApp, address: Address, limits: Limits) -> Server:
    """The server of an app whose requests pass an `Entrance`; proxies that are not named are not believed."""
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
        backlog=_ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=_GOODBYE_SECONDS,
    )
    return uvicorn.Server(config)


def _allow_files(wanted: int) -> None:
    """Let this process open so many files where the system allows it: each connection takes one, and macOS gives 256."""
    if sys.platform != "win32":  # which has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with suppress(OSError, ValueError):  # it goes on with what it has
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def check_packages() -> None:
    """Raises UsageError where what serving HTTP needs is not installed."""
    try:
        import uvicorn  # noqa: F401 - only whether it is there
    except ImportError:
        raise UsageError(
            "Serving HTTP needs more packages.", "Install them: pip install 'engram-lore[http]'"
        ) from None


def announce(address: Address, listening: socket.socket, path: str, place: str) -> None:
    """Say on standard error where the server is and where its token is."""
    port = listening.getsockname()[1]
    sys.stderr.write(f"Serving http://{host_in_url(address.host)}:{port}{path} · bearer token: {place}\n")
    sys.stderr.flush()


def transport_rules(address: Address) -> TransportSecuritySettings:
    """Which Host and Origin headers are let in: those of the loopback and of the names given. Raises UsageError."""
    from mcp.server.transport_security import TransportSecuritySettings

    if address.host in _EVERYWHERE and not address.names:
        raise UsageError(
            f"The address '{address.host}' listens on every network.",
            "Give the name that clients use for it: --allow-host NAME.",
        )
    names = dict.fromkeys((*_LOOPBACK, *map(host_in_url, address.names)))
    if address.host not in _EVERYWHERE:
        names[host_in_url(address.host)] = None
    hosts = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def token_of(state: str) -> tuple[str, str]:
    """The token that clients must send, and where it is from: a variable, else a file in the folder `state`.

    The file is made on first use, for its owner's eyes. Raises UsageError, StoreError.
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
            f"The token in {place} is not one: {http_token.SHORTEST} or more letters, digits and signs.",
            f"Set {TOKEN_VARIABLE}, or remove {path} (`engram doctor --fix` does) and a new one is made.",
        )
    return token, place


def _create_token(path: str) -> str:
    """The token in the file, which is made where there is none."""
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
    """A socket at the address. Raises UsageError, EngramError where nobody can be served there."""
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
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
