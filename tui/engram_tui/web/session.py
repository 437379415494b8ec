"""The app of one page, in a process of its own that ends with the page or the server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from textual_serve.download_manager import DownloadManager

PATIENCE = 3.0  # seconds for an app to end by itself
_MAX_CELLS = 1000  # of a terminal's side
# A terminal editor cannot be shown; without these the app uses its own.
_EDITOR_VARIABLES = ("VISUAL", "EDITOR")


class Session(AppService):
    """An app that a page draws, at the other end of a websocket."""

    def __init__(
        self, command: Sequence[str], websocket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        """`command` starts the app in a process."""
        super().__init__(
            command[0],
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._close,
            download_manager=downloads,
        )
        self._command = tuple(command)
        self._websocket = websocket

    async def run_app(self, width: int, height: int) -> None:
        """Start the app in this many cells, and pass on input until the page or the app ends."""
        await self.start(_cells(width), _cells(height))
        try:
            async for message in self._websocket:
                if message.type is WSMsgType.TEXT:
                    await self._handle(message.json())
        except ValueError:
            return  # a message that our page does not send
        finally:
            await self.stop()

    async def _handle(self, message: object) -> None:
        match message:
            case ["stdin", str(text)]:
                await self.send_bytes(text.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await self.set_terminal_size(_cells(width), _cells(height))
            case ["ping", str(data) | int(data)]:
                await self._websocket.send_json(["pong", data])
            case ["blur", *_]:
                await self.blur()
            case ["focus", *_]:
                await self.focus()
            case _:
                return

    async def run(self) -> None:
        """Pass on output of the app; when it ends, close the page's connection."""
        await super().run()
        await self._close()

    async def stop(self) -> None:
        """End the app as `q` does; kill it if it does not end."""
        try:
            await asyncio.wait_for(super().stop(), PATIENCE)
        except TimeoutError:
            self._task = None
        if self._process is not None:
            await _end_process(self._process)

    async def _close(self) -> None:
        await self._websocket.close()

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Start the process like the base class, but without a shell in between, which would outlive us."""
        environment = self._build_environment(width=width, height=height)
        for name in _EDITOR_VARIABLES:
            environment.pop(name, None)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )
        self._process, self._stdin = process, process.stdin
        return process


async def _end_process(process: Process) -> None:
    """Wait for a process to end; kill it if it does not."""
    try:
        await asyncio.wait_for(process.wait(), PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()


def _cells(number: int) -> int:
    return min(_MAX_CELLS, max(1, number))
