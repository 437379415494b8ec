"""The HTTP API of a store, in this process."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import httpx2
from apikit import variables

from engram.http.routes import ROOT
from engram.http.server import build
from engram.mcp.http import build as mcp_app
from engram.mcp.memory import PATIENCE_SECONDS, Memory, Opening
from engram.mcp.server import build as mcp_server
from engram.serving import Address, listen, request_checks, server_of, transport_rules
from engram.serving.limits import Limits
from engram.serving.rates import Rate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

TOKEN = "a-token-for-these-tests"
KEY = {"authorization": f"Bearer {TOKEN}"}
NO_RATE = Limits(rate=0)
LOCAL = "http://127.0.0.1:8849"

# For a single request each. A client that verifies TLS reads all certificates first, which takes 35 ms.
get = functools.partial(httpx2.get, verify=False)
post = functools.partial(httpx2.post, verify=False)


@asynccontextmanager
async def open_client(
    root: Path, *, rate: int = 0, patience: float = PATIENCE_SECONDS, **headers: str
) -> AsyncIterator[httpx2.AsyncClient]:
    """Open a client of the API of a store."""
    memory = Memory(Opening(str(root), ask=False, patience=patience))
    app = build(memory, transport_rules(Address("127.0.0.1", 8849)), TOKEN, Limits(rate=rate))
    transport = httpx2.ASGITransport(app=app)
    try:
        async with httpx2.AsyncClient(
            transport=transport, base_url=LOCAL, headers={**KEY, **headers}
        ) as client:
            yield client
    finally:
        memory.close()


def lore(content: str, **more: Any) -> dict[str, Any]:
    """Return an entry as it is sent."""
    return {"content": content, "category": "FACT", **more}


async def send_request(
    client: httpx2.AsyncClient, method: str, path: str, body: Any = None, status: int = 200, **headers: str
) -> httpx2.Response:
    """Send a request, check its status, and return the answer; `if_match` and the like are headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await client.request(method, f"{ROOT}{path}", json=body, headers=named)
    assert answer.status_code == status, answer.text
    return answer


class Served(NamedTuple):
    """A server in a process of its own: the address of its API, and the token."""

    url: str
    key: dict[str, str]

    def ask(
        self, method: str, path: str, body: Any = None, status: int = 200, **headers: str
    ) -> httpx2.Response:
        """Send a request with the token, check its status, and return the answer."""
        with httpx2.Client(verify=False, headers={**self.key, **headers}) as client:
            answer = client.request(method, f"{self.url}{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer


@contextmanager
def run_server(root: Path, *options: str) -> Iterator[Served]:
    """Run `engram serve` for a store, on a free port."""
    command = [sys.executable, "-m", "engram", "serve", "--port", "0", "--store", str(root), *options]
    process = subprocess.Popen(command, env=variables(), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        token = Path(said.rpartition(": ")[2].strip()).read_text("utf-8").strip()
        yield Served(said.split()[1], {"authorization": f"Bearer {token}"})
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@contextmanager
def on_the_loopback(
    root: Path,
    limits: Limits = NO_RATE,
    proxies: tuple[str, ...] = (),
    *,
    mcp: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[int]:
    """Run a server of the store in a thread, as `engram serve` or `engram mcp` does, and yield its port.

    `clock`, in seconds, is that of the rate limit.
    """
    memory = Memory(Opening(str(root), ask=False))
    address = Address("127.0.0.1", 0, (), proxies)
    listening = listen(address)
    rules = transport_rules(address)
    with mock.patch.object(request_checks, "Rate", functools.partial(Rate, clock=clock)):
        app = (
            mcp_app(mcp_server(memory), rules, TOKEN, limits) if mcp else build(memory, rules, TOKEN, limits)
        )
    server = server_of(app, address, limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        memory.close()


async def post_document(
    client: httpx2.AsyncClient, path: str, body: Any, status: int = 200
) -> dict[str, Any]:
    """Post a document and return the answer."""
    answer = await client.post(f"{ROOT}{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()
