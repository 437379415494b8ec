"""Endless requests and idle connections at a real server."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from apikit import make_plain_store
from http_kit import KEY, on_the_loopback

from engram.http.routes import ROOT
from engram.mcp.http import PATH
from engram.serving.limits import Limits
from tests.http.raw_http import HEAD, LONG_ENOUGH, connected, read_to_the_end, request, seen, statuses

if TYPE_CHECKING:
    from collections.abc import Iterator


SHORT = Limits(rate=0, head_seconds=0.3, body_seconds=0.3)
TOKEN_LINE = f"Authorization: {KEY['authorization']}\r\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_plain_store(tmp_path_factory.mktemp("flood") / "store")


@pytest.fixture(scope="module", params=["api", "mcp"])
def impatient(root: Path, request: pytest.FixtureRequest) -> Iterator[tuple[int, str]]:
    """A server that waits for 0.3 s only: its port and a path."""
    mcp = request.param == "mcp"
    with on_the_loopback(root, SHORT, mcp=mcp) as port:
        yield port, PATH if mcp else f"{ROOT}/lore"


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        ("", []),
        ("POST {path} HT", []),
        (HEAD + TOKEN_LINE, []),
        (HEAD + "Content-Length: 100\r\n\r\n{{", [401]),
        (HEAD + TOKEN_LINE + "Content-Length: 100\r\n\r\n{{", [408]),
        (HEAD + TOKEN_LINE + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", [408]),
    ],
    ids=["nothing", "request-line", "head", "body-without-token", "body", "chunk"],
)
def test_an_endless_request_is_closed_while_others_are_served(
    impatient: tuple[int, str], sent: str, answered: list[int]
) -> None:
    port, path = impatient
    began = time.monotonic()
    with connected(port) as connection:
        connection.sendall(sent.format(method="POST", path=path).encode())
        assert seen(port, path) == (400 if path == PATH else 200)  # MCP asks for a session
        assert statuses(read_to_the_end(connection)) == answered
    assert time.monotonic() - began >= SHORT.head_seconds


def test_sending_single_bytes_does_not_extend_the_time_limit(impatient: tuple[int, str]) -> None:
    port, path = impatient
    connection = connected(port)
    connection.sendall(HEAD.format(method="GET", path=path).encode())
    connection.settimeout(0.05)
    until = time.monotonic() + LONG_ENOUGH
    ended = False
    while not ended and time.monotonic() < until:
        try:
            connection.sendall(b"X")
            ended = not connection.recv(1)
        except TimeoutError:
            continue
        except OSError:
            ended = True
    connection.close()
    assert ended


def test_every_request_of_a_connection_has_a_time_limit(impatient: tuple[int, str]) -> None:
    port, path = impatient
    connection = connected(port)
    half = HEAD.format(method="GET", path=path).encode()
    connection.sendall(request("/nowhere", TOKEN_LINE.strip()) + half)
    assert statuses(read_to_the_end(connection)) == [404]


def test_a_client_that_never_reads_its_answers_is_disconnected(root: Path) -> None:
    asking = request(f"{ROOT}/{'x' * 2000}") * 10  # which the answer repeats in part
    with on_the_loopback(root, SHORT) as port, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(LONG_ENOUGH)
        connection.connect(("127.0.0.1", port))
        with pytest.raises(ConnectionError):
            send_without_end(connection, asking)


def send_without_end(connection: socket.socket, data: bytes) -> None:
    while True:
        connection.sendall(data)


def test_idle_connections_never_block_the_client_with_the_token(root: Path) -> None:
    limits = Limits(rate=0, waiting=8)
    with on_the_loopback(root, limits) as port, httpx2.Client(headers=KEY, verify=False) as client:
        url = f"http://127.0.0.1:{port}{ROOT}/lore"
        assert client.get(url).status_code == 200
        silent = [connected(port) for _ in range(40)]
        assert seen(port) == 200
        assert [read_to_the_end(one) for one in silent[:32]] == [b""] * 32
        silent[-1].sendall(request(f"{ROOT}/lore", TOKEN_LINE.strip(), "Connection: close"))
        assert statuses(read_to_the_end(silent[-1])) == [200]
        for one in silent[32:]:
            one.close()
