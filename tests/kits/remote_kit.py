"""Servers on this machine's own loopback that fail in one way each, and remotes made to fail."""

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

# Runs the command line in a child that hears Ctrl-C: pytest-xdist has its workers ignore it, and so would their children.
AS_AT_A_TERMINAL = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from engram.cli.main import main
sys.exit(main())
"""


def allow_loopback(patch: pytest.MonkeyPatch) -> None:
    """Let git talk over the network, which these tests do with this machine alone."""
    patch.setenv("GIT_ALLOW_PROTOCOL", "file:git:http:ssh")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        patch.delenv(name, raising=False)


@contextmanager
def listening() -> Iterator[tuple[str, socket.socket]]:
    """A socket on this machine that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}", server


def refusing() -> str:
    """An address on this machine at which nobody listens any more."""
    with listening() as (address, _):
        return address


@contextmanager
def answering(status: int, body: bytes = b"", announced: int | None = None) -> Iterator[str]:
    """A web server that answers everything with one status; `announced` is the length that it promises."""
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
            """Say nothing."""

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
    """A git server that takes the connection and closes it in the middle of its answer."""
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
    """Put rubbish into a loose object."""
    folder = repository / ".git" if (repository / ".git").exists() else repository
    file = folder / "objects" / oid[:2] / oid[2:]
    assert file.exists(), "the object is packed"
    os.chmod(file, 0o644)
    file.write_bytes(b"rubbish")
