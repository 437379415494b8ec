"""A real OpenAI-compatible endpoint on the loopback, with vectors from the words of `onnx_kit`."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from onnx_kit import DIMENSIONS, WORDS, table

from engram.adapters.embed.cached_embedder import EncodedEmbedder
from engram.adapters.embed.endpoint import Endpoint, EndpointEncoder, check_endpoint
from engram.adapters.embed.vector_cache import VectorCache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = dict(zip(WORDS, table(), strict=True))


class Asked(NamedTuple):
    """A request: its path, key and document."""

    path: str
    key: str
    body: dict[str, Any]


class LoopbackEndpoint:
    """Answers with vectors, or with the responses in `answers`, (status, headers, body), each once."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.dimensions = DIMENSIONS
        self.down = False
        self.held = threading.Event()
        self.held.set()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.loads(raw)
                endpoint.asked.append(Asked(self.path, self.headers.get("Authorization", ""), body))
                endpoint.held.wait(20)
                status, headers, answer = endpoint.answer(body)
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer)

            def do_GET(self) -> None:
                endpoint.asked.append(Asked(self.path, self.headers.get("Authorization", ""), {}))
                self.send_error(404)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if self.down:
            return 503, {}, b'{"error": {"message": "the model is loading"}}'
        if self.answers:
            return self.answers.pop(0)
        data = [{"index": i, "embedding": self.vector(text)} for i, text in enumerate(body["input"])]
        data.reverse()  # clients must order the data by "index"
        return 200, {}, json.dumps({"object": "list", "data": data, "model": body["model"]}).encode()

    def vector(self, text: str) -> list[float]:
        found = [0.01] * self.dimensions
        for word in text.lower().replace(".", " ").split():
            for place, value in enumerate(ROWS.get(word, [])[: self.dimensions]):
                found[place] += value
        return found

    @property
    def texts(self) -> list[str]:
        return [text for asked in self.asked for text in asked.body.get("input", [])]


@contextlib.contextmanager
def served() -> Iterator[LoopbackEndpoint]:
    endpoint = LoopbackEndpoint()
    thread = threading.Thread(target=endpoint.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.held.set()
        endpoint.server.shutdown()
        endpoint.server.server_close()
        thread.join(10)


KEY = "sk-not-a-real-key"


class Clock:
    """A clock that stands still, and records each pause instead of sleeping."""

    def __init__(self) -> None:
        self.now = 1_000_000_000_000
        self.pauses: list[float] = []

    def __call__(self) -> int:
        return self.now

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def embedder(loopback: LoopbackEndpoint, state: Path, clock: Clock, **more: object) -> EncodedEmbedder:
    """Return an embedder that calls the endpoint and caches vectors in `state`."""
    endpoint = check_endpoint(Endpoint(loopback.url, "words", KEY)._replace(**more))  # type: ignore[arg-type]
    cache = VectorCache(str(state / "vectors.db"), endpoint.identity)
    return EncodedEmbedder(
        "endpoint", endpoint.identity, EndpointEncoder(endpoint, clock.pause), cache, clock
    )
