"""Serve the app to browsers on this machine until Ctrl-C, which also ends all apps it started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from engram.domain.errors import UsageError
from engram.serving import Address, listen

if TYPE_CHECKING:
    import socket

    from aiohttp import web

    from engram_tui.web.access_control import AccessControl
    from engram_tui.web.session import Session

MAX_PAGES = 8  # open at the same time; each is a process
_SHUTDOWN_SECONDS = 2.0
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def check_packages() -> None:
    """Raise UsageError if the packages for serving browsers are not installed."""
    try:
        import textual_serve.app_service  # noqa: F401 - only to see whether it is installed
    except ImportError:
        raise UsageError(
            "Serving the app to a browser needs more packages.",
            "Install them: pip install 'engram-lore[web]'",
        ) from None


def serve_web(command: Sequence[str], port: int, title: str, *, browser: bool) -> int:
    """Serve the app that `command` starts on this port (0: any) until a signal ends the process; returns the exit code.

    With `browser`, opens it in the user's browser. Raises EngramError if the port cannot be used.
    """
    listening = listen(Address("127.0.0.1", port))
    with suppress(KeyboardInterrupt):  # Ctrl-C if asyncio handles no signals, as on Windows
        asyncio.run(Server(command, title, listening).run(browser=browser))
    return 0


class Server:
    """Serves the pages of the app, and runs the apps behind them."""

    def __init__(self, command: Sequence[str], title: str, listening: socket.socket) -> None:
        """Serve nothing before `run`."""
        from textual_serve.download_manager import DownloadManager

        from engram_tui.web.access_control import AccessControl

        self.access: AccessControl = AccessControl(listening.getsockname()[1])
        self._command, self._title, self._listening = command, title, listening
        self._downloads = DownloadManager()
        self._sessions: set[Session] = set()

    async def run(self, *, browser: bool) -> None:
        """Serve until a signal ends the process."""
        from aiohttp import web

        ended = _end_signal()
        runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.SockSite(runner, self._listening).start()
            _announce(self.access.address)
            if browser:
                await asyncio.to_thread(_open, self.access.address)
            await ended.wait()
        finally:
            await runner.cleanup()

    def app(self) -> web.Application:
        """Return the web application: the pages, behind the access control."""
        import textual_serve
        from aiohttp import web

        from engram_tui.web import page

        root = self.access.root
        static = os.path.join(os.path.dirname(str(textual_serve.__file__)), "static")
        app = web.Application(middlewares=[self.access.admit])
        app.router.add_get(root, self._page)
        app.router.add_get(root + page.SCRIPT, self._script)
        app.router.add_get(root + page.SOCKET, self._connect)
        app.router.add_static(root + page.STATIC, static)
        app.on_response_prepare.append(page.harden)
        app.on_shutdown.append(self._end_sessions)
        return app

    async def _page(self, request: web.Request) -> web.StreamResponse:
        from engram_tui.web import page

        return page.of_app(request, self._title)

    async def _script(self, _request: web.Request) -> web.StreamResponse:
        from engram_tui.web import page

        return page.script()

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        from engram_tui.web import page
        from engram_tui.web.session import Session

        if "Origin" not in request.headers:  # every browser sends one here
            return page.refusal(403, "Only a page may ask for this.")
        if len(self._sessions) >= MAX_PAGES:
            return page.refusal(503, f"The app is open in {MAX_PAGES} pages already: close one.")
        websocket = web.WebSocketResponse(heartbeat=15)
        session = Session(self._command, websocket, self._downloads)
        self._sessions.add(session)
        try:
            await websocket.prepare(request)
            await session.run_app(_number(request, "width", 80), _number(request, "height", 24))
        finally:
            self._sessions.discard(session)
        return websocket

    async def _end_sessions(self, _app: Any) -> None:
        await asyncio.gather(*(session.stop() for session in tuple(self._sessions)), return_exceptions=True)


def _end_signal() -> asyncio.Event:
    """Return an event that is set by a signal to end."""
    ended = asyncio.Event()
    for name in _SIGNALS:
        with suppress(AttributeError, NotImplementedError):  # as on Windows
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), ended.set)
    return ended


def _announce(address: str) -> None:
    sys.stderr.write(
        f"The app is at {address}\nThe address works once, and only on this machine. Ctrl-C ends it.\n"
    )
    sys.stderr.flush()


def _open(address: str) -> None:
    """Open a browser if there is a display; without one, a text browser would take over this terminal."""
    import webbrowser

    if sys.platform in {"win32", "darwin"} or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        with suppress(webbrowser.Error):
            webbrowser.open(address)


def _number(request: web.Request, name: str, otherwise: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 5 else otherwise
