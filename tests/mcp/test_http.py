"""The server over HTTP: the official client in both versions of the protocol, and callers to refuse."""

from __future__ import annotations

import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx2
import pytest
from apikit import QUEUE, cli, make_plain_store, open_test_store, variables
from effort import sampled
from http_kit import post
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_kit import COMMAND, CORE, ERAS, HELLO, ok

from engram.domain.errors import StoreError, UsageError
from engram.serving import Address, load_token, transport_rules

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

PING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
TYPES = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Serving(NamedTuple):
    """A running server: its address, its token, the store it serves."""

    url: str
    token: str
    root: Path

    @property
    def key(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


@contextmanager
def serving(root: Path, *arguments: str) -> Iterator[Serving]:
    """`engram mcp --http` in a process of its own, at any free port."""
    command = [sys.executable, *COMMAND, "--http", "--port", "0", "--store", str(root), *arguments]
    process = subprocess.Popen(command, env=variables(), stderr=subprocess.PIPE, text=True)
    try:
        said = process.stderr.readline()
        assert said.startswith("Serving "), said + process.stderr.read()
        url, place = said.split()[1], said.rpartition(": ")[2].strip()
        yield Serving(url, Path(place).read_text().strip(), root)
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    root = make_plain_store(tmp_path_factory.mktemp("http") / "store")
    with open_test_store(root) as engram:
        engram.record(QUEUE, category="fact")
    with serving(root) as found:
        yield found


@asynccontextmanager
async def client_of(server: Serving, era: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=server.key, verify=False) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=era) as client,
    ):
        yield client


@sampled("era", ERAS)
async def test_the_official_client_drives_every_tool(server: Serving, era: str) -> None:
    async with client_of(server, era) as client:
        assert tuple(tool.name for tool in (await client.list_tools()).tools) == CORE
        assert (await ok(client, "recall_status"))["store"] == str(server.root)
        (lore,) = (await ok(client, "recall_query", query="queue consumers", k=1))["lore"]
        assert lore["ref"] == "L1"
        (judged,) = (await ok(client, "recall_feedback", helpful=["L1"]))["updated"]
        assert judged["ref"] == lore["ref"]
        assert (await ok(client, "recall_get", refs=["L1"]))["lore"]
        lesson = f"The port of the {era} client is free again after a minute."
        made = await ok(client, "recall_record", content=lesson, category="fact")
        assert "L1" in (await client.read_resource("lore://session")).contents[0].text
        assert (await ok(client, "recall_forget", refs=[made["id"]], confirm=True))["deleted"]


async def test_each_connection_is_a_session_of_its_own(server: Serving) -> None:
    for _ in range(2):
        async with client_of(server, "legacy") as client:
            await ok(client, "recall_query", query="queue consumers", k=1)
            (judged,) = (await ok(client, "recall_feedback", helpful=["L1"]))["updated"]
            assert "repeated" not in judged


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Basic TOKEN"}, 401),
        ({"authorization": "Bearer TOKENx"}, 401),
        ({"authorization": "bearer TOKEN"}, 200),
        ({"authorization": "Bearer TOKEN", "host": "evil.example"}, 421),
        ({"authorization": "Bearer TOKEN", "host": "localhost.evil.example:80"}, 421),
        ({"authorization": "Bearer TOKEN", "origin": "http://evil.example"}, 403),
        ({"authorization": "Bearer TOKEN", "origin": "null"}, 403),
        ({"authorization": "Bearer TOKEN", "origin": "http://localhost:3000"}, 200),
    ],
)
def test_only_callers_with_token_and_allowed_host_are_admitted(
    server: Serving, headers: dict[str, str], status: int
) -> None:
    sent = {name: value.replace("TOKEN", server.token) for name, value in headers.items()}
    answer = post(server.url, json=PING, headers={**TYPES, **sent})
    assert answer.status_code == status
    assert server.token not in answer.text
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_body_of_ten_megabytes_is_refused_and_the_server_lives(server: Serving) -> None:
    answer = post(server.url, content=b"x" * 10_000_000, headers={**TYPES, **server.key})
    assert answer.status_code == 413
    assert post(server.url, json=PING, headers={**TYPES, **server.key}).status_code == 200


def test_the_token_is_made_once_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, place = load_token(str(tmp_path))
    assert load_token(str(tmp_path)) == (first, place)
    assert len(first) >= 40
    if sys.platform != "win32":
        assert Path(place).stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("ENGRAM_HTTP_TOKEN", "chosen-by-an-administrator")
    assert load_token(str(tmp_path)) == ("chosen-by-an-administrator", "ENGRAM_HTTP_TOKEN")
    for weak in ("short", "with spaces in the middle", "non-ascii-tökén-here"):
        monkeypatch.setenv("ENGRAM_HTTP_TOKEN", weak)
        with pytest.raises(UsageError):
            load_token(str(tmp_path))
    monkeypatch.delenv("ENGRAM_HTTP_TOKEN")
    with pytest.raises(StoreError, match="cannot be used"):
        load_token(str(tmp_path / "nowhere"))


def test_a_server_open_to_every_network_must_be_named() -> None:
    with pytest.raises(UsageError, match="listens on every network"):
        transport_rules(Address("0.0.0.0", 1))
    rules = transport_rules(Address("0.0.0.0", 1, ("lore.example",)))
    assert {"lore.example", "lore.example:*", "localhost:*"} <= set(rules.allowed_hosts)
    assert "https://lore.example" in rules.allowed_origins
    assert "0.0.0.0:*" not in rules.allowed_hosts


@pytest.mark.slow
def test_a_server_that_cannot_start_says_why(server: Serving, tmp_path: Path) -> None:
    port = server.url.split(":")[2].split("/")[0]
    taken = cli("mcp", "--http", "--port", port, "--store", str(server.root))
    assert (taken.code, f"port {port}: Address already in use" in taken.err) == (1, True)
    assert cli("mcp", "--http", "--port", "99999999", "--store", str(server.root)).code == 2
    assert cli("mcp", "--http", "--store", str(tmp_path / "nowhere")).code == 3
