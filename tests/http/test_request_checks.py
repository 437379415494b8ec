"""Checks of requests: floods without the token, forged addresses, clients behind a proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import make_plain_store
from http_kit import KEY, get, on_the_loopback

from engram.http.routes import ROOT
from engram.serving.limits import Limits
from tests.http.raw_http import connected, read_to_the_end, request, seen, statuses

TOKEN_LINE = f"Authorization: {KEY['authorization']}\r\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_plain_store(tmp_path_factory.mktemp("flood") / "store")


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


@pytest.mark.parametrize("lines", [(), ("Authorization: Bearer a-guess-that-is-wrong",)])
def test_a_flood_without_the_token_does_not_affect_the_client_with_it(
    root: Path, lines: tuple[str, ...]
) -> None:
    burst = Limits().anonymous_rate // 4
    with on_the_loopback(root, Limits(), clock=stands_still) as port:
        found = flood(port, f"{ROOT}/lore", 300, *lines)
        assert found == [401] * burst + [429] * (300 - burst), "guesses are not bounded"
        assert flood(port, f"{ROOT}/lore", 100, TOKEN_LINE.strip()) == [200] * 100
        found = flood(port, f"{ROOT}/health", 100, *lines)
        assert found == [429] * 100, "what is public has no bucket of its own"


def test_the_client_with_the_token_does_not_use_the_anonymous_rate(root: Path) -> None:
    with on_the_loopback(root, Limits(rate=4), clock=stands_still) as port:
        assert [seen(port), seen(port)] == [200, 429]
        assert get(f"http://127.0.0.1:{port}{ROOT}/health").status_code == 200


def test_a_request_without_the_token_is_refused_before_its_body_is_read(root: Path) -> None:
    with on_the_loopback(root) as port, connected(port) as connection:
        connection.sendall(request(f"{ROOT}/lore", "Content-Length: 4000000", method="POST"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_clients_behind_a_trusted_proxy_have_separate_rates(root: Path) -> None:
    with on_the_loopback(root, Limits(rate=4), ("127.0.0.0/8",), clock=stands_still) as port:
        assert [seen(port, x_forwarded_for="203.0.113.1") for _ in range(2)] == [200, 429]
        assert seen(port, x_forwarded_for="203.0.113.2") == 200
        # What a client sends itself stands left of the address that the proxy adds.
        assert seen(port, x_forwarded_for="198.51.100.9, 203.0.113.1") == 429
        assert seen(port, x_forwarded_for="198.51.100.9, 203.0.113.1, 127.0.0.5") == 429
        assert seen(port, forwarded="for=198.51.100.9", x_forwarded_for="203.0.113.1") == 429


@pytest.mark.parametrize("proxies", [(), ("203.0.113.7",)])
def test_a_forged_address_of_an_untrusted_client_is_ignored(
    root: Path, proxies: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # which uvicorn would go by
    with on_the_loopback(root, Limits(rate=4), proxies, clock=stands_still) as port:
        forged = [
            seen(port, x_forwarded_for=f"203.0.113.{n}", forwarded=f"for=203.0.113.{n}") for n in (1, 2)
        ]
        assert forged == [200, 429]
        assert seen(port, x_forwarded_for="127.0.0.1") == 429
