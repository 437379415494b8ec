"""Clients that mean harm, at a real server: floods without the token, requests that never end, forged addresses."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from apikit import cli, dedicated, plain, variables
from effort import sampled
from http_kit import KEY, get, on_the_loopback

from engram.http.routes import ROOT
from engram.mcp.http import PATH
from engram.serving.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT = Limits(rate=0, head_seconds=0.3, body_seconds=0.3)
LONG_ENOUGH = 20.0  # seconds after which a test fails that waits for the server
HEAD = "{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
TOKEN_LINE = f"Authorization: {KEY['authorization']}\r\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain(tmp_path_factory.mktemp("flood") / "store")


def request(path: str, *lines: str, method: str = "GET") -> bytes:
    return (
        HEAD.format(method=method, path=path) + "".join(f"{line}\r\n" for line in lines) + "\r\n"
    ).encode()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), LONG_ENOUGH)


def read_to_the_end(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection, which it has to."""
    got = bytearray()
    with connection:
        while data := connection.recv(65536):
            got += data
    return bytes(got)


def statuses(answers: bytes) -> list[int]:
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def flood(port: int, path: str, count: int, *lines: str) -> list[int]:
    """The statuses of so many requests, a hundred through each connection."""
    found: list[int] = []
    while len(found) < count:
        connection = connected(port)
        connection.sendall(request(path, *lines) * 99 + request(path, *lines, "Connection: close"))
        found += statuses(read_to_the_end(connection))
    return found


def stands_still() -> float:
    """A clock by which no bucket is ever filled again."""
    return 0.0


def seen(port: int, path: str = f"{ROOT}/lore", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return get(f"http://127.0.0.1:{port}{path}", headers={**KEY, **named}).status_code


@pytest.mark.parametrize("lines", [(), ("Authorization: Bearer a-guess-that-is-wrong",)])
def test_a_flood_without_the_token_leaves_the_client_that_has_it_alone(
    root: Path, lines: tuple[str, ...]
) -> None:
    burst = Limits().anonymous_rate // 4
    with on_the_loopback(root, Limits(), clock=stands_still) as port:
        found = flood(port, f"{ROOT}/lore", 300, *lines)
        assert found == [401] * burst + [429] * (300 - burst), "guesses are not bounded"
        assert flood(port, f"{ROOT}/lore", 100, TOKEN_LINE.strip()) == [200] * 100
        found = flood(port, f"{ROOT}/health", 100, *lines)
        assert found == [429] * 100, "what is public has no bucket of its own"


def test_the_client_with_the_token_takes_nothing_from_those_without(root: Path) -> None:
    with on_the_loopback(root, Limits(rate=4), clock=stands_still) as port:
        assert [seen(port), seen(port)] == [200, 429]
        assert get(f"http://127.0.0.1:{port}{ROOT}/health").status_code == 200


def test_a_request_without_the_token_is_refused_before_its_body_is_read(root: Path) -> None:
    with on_the_loopback(root) as port, connected(port) as connection:
        connection.sendall(request(f"{ROOT}/lore", "Content-Length: 4000000", method="POST"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_clients_behind_a_trusted_proxy_have_a_bucket_each(root: Path) -> None:
    with on_the_loopback(root, Limits(rate=4), ("127.0.0.0/8",), clock=stands_still) as port:
        assert [seen(port, x_forwarded_for="203.0.113.1") for _ in range(2)] == [200, 429]
        assert seen(port, x_forwarded_for="203.0.113.2") == 200
        # What a client sends itself stands left of the address that the proxy adds.
        assert seen(port, x_forwarded_for="198.51.100.9, 203.0.113.1") == 429
        assert seen(port, x_forwarded_for="198.51.100.9, 203.0.113.1, 127.0.0.5") == 429
        assert seen(port, forwarded="for=198.51.100.9", x_forwarded_for="203.0.113.1") == 429


@pytest.mark.parametrize("proxies", [(), ("203.0.113.7",)])
def test_an_address_that_an_untrusted_client_forges_changes_nothing(
    root: Path, proxies: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # which uvicorn would go by
    with on_the_loopback(root, Limits(rate=4), proxies, clock=stands_still) as port:
        forged = [
            seen(port, x_forwarded_for=f"203.0.113.{n}", forwarded=f"for=203.0.113.{n}") for n in (1, 2)
        ]
        assert forged == [200, 429]
        assert seen(port, x_forwarded_for="127.0.0.1") == 429


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
def test_a_request_that_never_ends_is_ended_while_others_are_served(
    impatient: tuple[int, str], sent: str, answered: list[int]
) -> None:
    port, path = impatient
    began = time.monotonic()
    with connected(port) as connection:
        connection.sendall(sent.format(method="POST", path=path).encode())
        assert seen(port, path) == (400 if path == PATH else 200)  # MCP asks for a session
        assert statuses(read_to_the_end(connection)) == answered
    assert time.monotonic() - began >= SHORT.head_seconds


def test_a_head_that_comes_byte_by_byte_has_no_more_time(impatient: tuple[int, str]) -> None:
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


def test_the_next_request_of_a_connection_is_ended_as_the_first(impatient: tuple[int, str]) -> None:
    port, path = impatient
    connection = connected(port)
    half = HEAD.format(method="GET", path=path).encode()
    connection.sendall(request("/nowhere", TOKEN_LINE.strip()) + half)
    assert statuses(read_to_the_end(connection)) == [404]


def test_a_client_that_never_reads_its_answers_is_ended(root: Path) -> None:
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


def test_connections_that_wait_never_keep_out_the_client_with_the_token(root: Path) -> None:
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


@pytest.mark.slow
@sampled("command", ["serve", "mcp --http"])
def test_proxies_are_named_on_the_command_line(tmp_path: Path, command: str) -> None:
    root = dedicated(tmp_path / "store")
    arguments = [*command.split(), "--port", "0", "--rate", "4", "--trust-proxy", "127.0.0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "engram", *arguments, "--store", str(root)],
        env=variables(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        announced = process.stderr.readline()
        url, place = announced.split()[1], announced.rpartition(": ")[2].strip()
        key = {"authorization": f"Bearer {Path(place).read_text().strip()}"}
        found = [
            get(url, headers={**key, "x-forwarded-for": f"203.0.113.{n}"}).status_code for n in (1, 1, 2, 2)
        ]
        assert [status == 429 for status in found] == [False, True, False, True]
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@pytest.mark.parametrize("proxy", ["proxy.example", "10.0.0.5/8", "*", ""])
def test_a_proxy_that_is_no_address_is_refused(root: Path, proxy: str) -> None:
    for command in (["serve"], ["mcp", "--http"]):
        refused = cli(*command, "--trust-proxy", proxy, cwd=root)
        assert (refused.code, "neither an IP address nor a network" in refused.err) == (2, True)
