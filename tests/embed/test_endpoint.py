"""An OpenAI-compatible endpoint: what is sent, when it is tried again, and what is said when it fails."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from endpoint_kit import KEY, Clock, LoopbackEndpoint, embedder, served
from onnx_kit import DIMENSIONS

from engram.adapters.embed.endpoint import Endpoint, check_endpoint
from engram.adapters.embed.endpoint_call import post
from engram.adapters.embed.errors import EmbeddingError, EmbeddingUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def loopback() -> Iterator[LoopbackEndpoint]:
    with served() as endpoint:
        yield endpoint


def test_texts_become_unit_vectors_in_their_order(loopback: LoopbackEndpoint, tmp_path: Path) -> None:
    mine = embedder(loopback, tmp_path, Clock())
    rows = mine.embed(["car", "bread", "automobile", "river"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1] * 4, abs=1e-3)
    assert (rows[0] @ rows[2], rows[0] @ rows[1]) == (
        pytest.approx(1, abs=1e-3),
        pytest.approx(0.02, abs=0.01),
    )
    asked = loopback.asked[-1]
    assert (asked.path, asked.key) == ("/v1/embeddings", f"Bearer {KEY}")
    assert asked.body == {"model": "words", "input": ["car", "bread", "automobile", "river"]}


def test_temporary_failures_are_retried_with_longer_pauses(
    loopback: LoopbackEndpoint, tmp_path: Path
) -> None:
    clock = Clock()
    mine = embedder(loopback, tmp_path, clock)
    loopback.answers = [(429, {"Retry-After": "7"}, b"{}"), (500, {}, b"oops"), (503, {}, b"")]
    assert mine.embed(["car"])[0][0] > 0.9
    assert clock.pauses == [7.0, 1.0, 2.0]
    loopback.answers = [(500, {}, b"oops")] * 5
    with pytest.raises(EmbeddingUnavailableError, match=r"500 \(oops\)"):
        mine.embed(["river"])
    assert len(clock.pauses) == 3 + 4


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "key"), (403, "key"), (404, "embedding.model"), (400, "settings"), (307, "settings")],
)
def test_permanent_failures_are_not_retried(
    loopback: LoopbackEndpoint, tmp_path: Path, status: int, hint: str
) -> None:
    clock = Clock()
    mine = embedder(loopback, tmp_path, clock)
    said = json.dumps({"error": {"message": f"no such thing as {KEY} here"}}).encode()
    loopback.answers = [(status, {"Location": f"{loopback.url}/elsewhere"}, said)]
    before = len(loopback.asked)
    with pytest.raises(EmbeddingUnavailableError, match=f"answered {status}") as caught:
        mine.embed(["car"])
    assert hint in caught.value.hint
    assert KEY not in caught.value.message
    assert (clock.pauses, len(loopback.asked) - before) == ([], 1)  # nor is a redirect followed


def test_an_answer_that_takes_too_long_is_abandoned(loopback: LoopbackEndpoint, tmp_path: Path) -> None:
    mine = embedder(loopback, tmp_path, Clock(), timeout=0.1)
    loopback.held.clear()
    with pytest.raises(EmbeddingUnavailableError, match="cannot be reached: timed out"):
        mine.embed_one("car")


def test_an_unreachable_endpoint_is_reported(tmp_path: Path) -> None:
    with served() as gone:
        pass
    with pytest.raises(EmbeddingUnavailableError, match=r"cannot be reached: .*refused"):
        embedder(gone, tmp_path, Clock())


def test_an_answer_that_trickles_past_the_deadline_is_abandoned() -> None:
    import socket

    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip() -> None:
        client, _ = listening.accept()
        client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not over.wait(0.02):
            client.sendall(b" ")
        client.close()

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with pytest.raises(EmbeddingUnavailableError, match="too long"):
            post(f"http://127.0.0.1:{listening.getsockname()[1]}/v1/embeddings", "", {}, 0.2)
    finally:
        over.set()
        thread.join(10)
        listening.close()


STRANGE = {
    "no JSON": b"<html>",
    "no data": b"{}",
    "data that is no list": b'{"data": 7}',
    "a vector too few": b'{"data": [{"index": 0, "embedding": [1.0]}]}',
    "two of one index": b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
    "texts for numbers": b'{"data": [{"index": 0, "embedding": ["a"]}, {"index": 1, "embedding": ["b"]}]}',
    "empty vectors": b'{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}',
    "vectors of two lengths": b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}',
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE.keys())
def test_an_invalid_answer_is_an_error_with_a_hint(
    loopback: LoopbackEndpoint, tmp_path: Path, answer: bytes
) -> None:
    mine = embedder(loopback, tmp_path, Clock())
    loopback.answers = [(200, {}, answer)]
    with pytest.raises(EmbeddingError) as caught:
        mine.embed(["car", "bread"])
    assert caught.value.hint


def test_values_that_are_not_finite_become_zeros(loopback: LoopbackEndpoint, tmp_path: Path) -> None:
    mine = embedder(loopback, tmp_path, Clock())
    row = json.dumps([float("nan"), 1.0, float("inf"), *[0.0] * (DIMENSIONS - 3)])
    loopback.answers = [(200, {}, f'{{"data": [{{"index": 0, "embedding": {row}}}]}}'.encode())]
    assert mine.embed(["car"])[0] == pytest.approx([0, 1, *[0] * (DIMENSIONS - 2)])


def test_vectors_of_another_length_than_before_are_refused(
    loopback: LoopbackEndpoint, tmp_path: Path
) -> None:
    mine = embedder(loopback, tmp_path, Clock())
    loopback.dimensions = 5
    with pytest.raises(EmbeddingError, match="returned vectors of 5 dimensions; those before had 8"):
        mine.embed(["car"])
    with pytest.raises(EmbeddingError, match="5 dimensions, expected 6"):
        embedder(loopback, tmp_path, Clock(), dimensions=6)
    assert loopback.asked[-1].body["dimensions"] == 6


@pytest.mark.parametrize(
    "url",
    [
        "",
        "models.example.com/v1",
        "ftp://models.example.com",
        "file:///etc/passwd",
        "https://",
        "https://user:word@models.example.com/v1",
        "https://models.example.com/v1?to=elsewhere",
        "https://models.example.com:port/v1",
        "https://[::1/v1",
        "http://models.example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://10.0.0.7:11434/v1",
    ],
)
def test_an_invalid_or_unsafe_address_is_refused(url: str) -> None:
    with pytest.raises(EmbeddingError, match=r"embedding\.url") as caught:
        check_endpoint(Endpoint(url, "words"))
    assert caught.value.hint


@pytest.mark.parametrize("key", ["two words", "line\nend", "clé"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(EmbeddingError) as caught:
        check_endpoint(Endpoint("https://models.example.com/v1", "words", key))
    assert key not in caught.value.message + caught.value.hint


def test_the_address_is_accepted_with_and_without_its_last_part() -> None:
    for url in ("https://x.example/v1", "https://x.example/v1/", " https://x.example/v1/embeddings"):
        assert check_endpoint(Endpoint(url, "m")).url == "https://x.example/v1"
    with pytest.raises(EmbeddingError, match=r"embedding\.model"):
        check_endpoint(Endpoint("https://x.example/v1", " "))


def test_the_identity_names_the_model_and_never_the_key() -> None:
    first = Endpoint("https://x.example/v1", "m", KEY)
    assert KEY not in first.identity
    assert first.identity == first._replace(key="other", timeout=9).identity
    assert (
        len({one.identity for one in (first, first._replace(model="n"), first._replace(dimensions=3))}) == 3
    )
