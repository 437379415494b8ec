"""The first requests of a client are answered before the SDK is loaded, exactly as the SDK answers them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import make_plain_store
from effort import sampled
from mcp_kit import HELLO, Raw

from engram.mcp import handshake
from engram.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Raw]:
    with Raw("--store", str(make_plain_store(tmp_path / "store")), cwd=tmp_path) as found:
        yield found


@sampled("versions", [slice(-1, None), slice(None)], ids=["newest", "all"])
def test_the_stored_answers_equal_those_of_the_sdk(versions: slice) -> None:
    """Else: python tools/generate_handshake.py."""
    spec = importlib.util.spec_from_file_location("generate_handshake", ROOT / "tools/generate_handshake.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert Path(handshake.DATA).read_text("utf-8") == module.text(module.VERSIONS[versions])


def test_the_sdk_answers_the_same_when_it_is_asked_again(server: Raw) -> None:
    first = server.request(1, "tools/list")["result"]
    assert server.request(2, "ping")["result"] == {}  # left to the SDK, with all that came before
    assert server.request(3, "tools/list")["result"] == first
    assert server.hello["result"]["serverInfo"]["version"] == __version__
    assert server.hello["result"]["protocolVersion"] == HELLO["protocolVersion"]


def test_each_request_is_answered_once(server: Raw) -> None:
    server.request(1, "tools/list")
    server.line({"id": 2, "method": "ping"})
    server.line({"id": 1, "method": "ping"})  # an id of before, which is answered like any other
    found = [server.read()["id"] for _ in range(2)]
    assert sorted(found) == [1, 2]


@pytest.mark.slow
def test_the_server_ends_if_the_client_closes_after_the_handshake(tmp_path: Path) -> None:
    with Raw(cwd=tmp_path) as server:
        assert server.end() == 0


@sampled(
    ("first", "answer"),
    [
        ({"id": 5, "method": "ping"}, {"id": 5, "result": {}}),
        ({"id": 5, "method": "initialize", "params": {}}, {"id": 5}),
    ],
    everyday=0,
)
def test_other_requests_are_left_to_the_sdk(
    tmp_path: Path, first: dict[str, Any], answer: dict[str, Any]
) -> None:
    with Raw(cwd=tmp_path, handshake=False) as server:
        server.line(first)
        found = server.read()
        assert {name: found.get(name) for name in answer} == answer


@pytest.mark.slow
def test_an_unknown_version_gets_the_newest_that_has_a_handshake(tmp_path: Path) -> None:
    with Raw(cwd=tmp_path, handshake=False) as server:
        answer = server.request(0, "initialize", {**HELLO, "protocolVersion": "1999-01-01"})
        assert answer["result"]["protocolVersion"] == "2025-11-25"
