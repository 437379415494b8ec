"""A real headless browser, controlled over its debugging socket."""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import shutil
import signal
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from aiohttp import ClientWebSocketResponse

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
LIMIT = 60.0  # seconds; reached only on failure


def browser() -> str | None:
    """Return a browser on this machine that these tests can drive, if any."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """A page of the browser."""

    def __init__(self, socket: ClientWebSocketResponse, session: str) -> None:
        self._socket, self._session = socket, session
        self._numbers = itertools.count(100)
        self.received = b""  # by the page over websockets, since `Network.enable`

    async def tell(self, method: str, **params: Any) -> Any:
        """Send a command to the page and return its result."""
        answer = await self._request(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    async def value(self, script: str) -> Any:
        """Run a script in the page and return its value."""
        answer = await self.tell("Runtime.evaluate", expression=script, returnByValue=True)
        return answer["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until a script returns true; the page itself polls it every 20 ms."""
        looked = f"new Promise(done => setTimeout(() => done(Boolean({script})), 20))"
        async with asyncio.timeout(LIMIT):
            while not await self._looked(looked):
                pass

    async def _looked(self, script: str) -> bool:
        params = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = await self._request("Runtime.evaluate", params)
        return bool(answer.get("result", {}).get("result", {}).get("value"))  # no value: the page is loading

    async def _request(self, method: str, params: Any) -> Any:
        return await answered(self._socket, next(self._numbers), method, params, self._session, self._heard)

    def _heard(self, event: Any) -> None:
        if event.get("method") == "Network.webSocketFrameReceived":
            frame = event["params"]["response"]
            if frame["opcode"] == 2:
                self.received += base64.b64decode(frame["payloadData"])

    async def press(self, text: str) -> None:
        """Type text key by key."""
        for letter in text:
            for kind in ("keyDown", "keyUp"):
                more = {"text": letter} if kind == "keyDown" else {}
                await self.tell("Input.dispatchKeyEvent", type=kind, key=letter, **more)

    async def picture(self, path: Path) -> None:
        """Save a screenshot of the page as PNG."""
        answer = await self.tell("Page.captureScreenshot", format="png")
        await asyncio.to_thread(path.write_bytes, base64.b64decode(answer["data"]))


async def answered(
    socket: ClientWebSocketResponse,
    number: int,
    method: str,
    params: Any,
    session: str = "",
    heard: Callable[[Any], None] = lambda _event: None,
) -> Any:
    """Send a command to the browser and wait for its answer; events in between go to `heard`."""
    await socket.send_json(
        {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
    )
    async with asyncio.timeout(LIMIT):
        while True:
            message = await socket.receive_json()
            if message.get("id") == number:
                return message
            heard(message)


@asynccontextmanager
async def page(program: str, folder: Path) -> AsyncIterator[Page]:
    """Open an empty page in a new browser, with its profile in `folder`."""
    import aiohttp

    command = (program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
               "--disable-background-networking", "--remote-debugging-port=0", "--window-size=1200,800",
               f"--user-data-dir={folder}", "about:blank")  # fmt: skip
    none = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, stdin=none, stdout=none, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stderr is not None
        place = await asyncio.wait_for(_place(process.stderr), LIMIT)
        async with aiohttp.ClientSession() as client, client.ws_connect(place, max_msg_size=0) as socket:
            target = await answered(socket, 1, "Target.createTarget", {"url": "about:blank"})
            which = {"targetId": target["result"]["targetId"], "flatten": True}
            attached = await answered(socket, 2, "Target.attachToTarget", which)
            yield Page(socket, attached["result"]["sessionId"])
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes of its pages
        await process.wait()


async def _place(errors: asyncio.StreamReader) -> str:
    """Return the address at which the browser listens, from its output."""
    said: list[bytes] = []
    async for line in errors:
        said.append(line)
        if b"ws://" in line:
            return line[line.index(b"ws://") :].decode().strip()
    raise AssertionError(b"".join(said).decode())
