"""Servers on the loopback that each fail in one way, and damaged remotes."""

from __future__ import annotations

import http.server
import os
import socket
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

# Runs the command line in a child that receives Ctrl-C, which workers of pytest-xdist and their children ignore.
AS_AT_A_TERMINAL = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from engram.cli.main import main
sys.exit(main())
"""


def allow_loopback(patch: pytest.MonkeyPatch) -> None:
    """Let git use the network, which these tests do on this machine only."""
    patch.setenv("GIT_ALLOW_PROTOCOL", "file:git:http:ssh")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        patch.delenv(name, raising=False)


@contextmanager
def listening() -> Iterator[tuple[str, socket.socket]]:
    """Open a socket that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}", server


def refusing() -> str:
    """Return an address on this machine at which no one listens."""
    with listening() as (address, _):
        return address


@contextmanager
def answering(status: int, body: bytes = b"", announced: int | None = None) -> Iterator[str]:
    """Run a web server that answers everything with one status; `announced` is the content length it declares."""
    length = len(body) if announced is None else announced
    ended = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="lore"')
            self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)
            if length > len(body):
                self.wfile.flush()
                ended.wait(20)  # the rest never comes

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/lore.git"
        finally:
            ended.set()
            server.shutdown()
            thread.join()


@contextmanager
def hanging_up() -> Iterator[str]:
    """Run a git server that closes the connection in the middle of its answer."""
    with listening() as (address, server):

        def serve() -> None:
            connection = server.accept()[0]
            connection.recv(1000)
            connection.sendall(b"0032" + b"a" * 10)
            connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"git://{address}/lore.git"
        thread.join(20)


def damage(repository: Path, oid: str) -> None:
    """Overwrite a loose object with garbage."""
    folder = repository / ".git" if (repository / ".git").exists() else repository
    file = folder / "objects" / oid[:2] / oid[2:]
    assert file.exists(), "the object is packed"
    os.chmod(file, 0o644)
    file.write_bytes(b"rubbish")
