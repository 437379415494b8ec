"""Access control: a token in the address admits a browser once; from then on a cookie admits that browser.

Pages of other sites can send requests to the loopback address, too, and a foreign host name can be made to resolve to it
(DNS rebinding). So every request must name this server as its host, and its origin, if the browser sends one, must be
ours. Cookies are sent to every port of this machine, so ours is limited to a path that nobody can guess.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web

from engram_tui.web import page

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

NAMES = ("127.0.0.1", "localhost")  # host names that reach a socket on 127.0.0.1
_COOKIE = "engram"


class AccessControl:
    """Admits requests for paths under `root`."""

    def __init__(self, port: int) -> None:
        """`port` is the port on 127.0.0.1 on which the server listens."""
        self.root = f"/{secrets.token_urlsafe(12)}/"
        self._token: str | None = secrets.token_urlsafe(32)
        self._key = secrets.token_urlsafe(32)
        self._hosts = {f"{name}:{port}" for name in NAMES}
        self.address = f"http://{NAMES[0]}:{port}/?token={self._token}"

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Handle a request, or refuse it. The token works once."""
        if request.host not in self._hosts:
            return page.refusal(421, "This server is not known by that name.")
        origin = request.headers.get("Origin", f"http://{request.host}")
        if origin.removeprefix("http://") not in self._hosts or not origin.startswith("http://"):
            return page.refusal(403, "Another site asked for this page.")
        if request.path == "/":
            return self._enter(request)
        if not _same(request.cookies.get(_COOKIE), self._key):
            return page.refusal(403, page.NOT_KNOWN)
        return await handler(request)

    def _enter(self, request: web.Request) -> web.StreamResponse:
        if not _same(request.query.get("token"), self._token):
            return page.refusal(403, page.NOT_KNOWN)
        self._token = None
        answer = web.Response(status=303, headers={"Location": self.root})
        answer.set_cookie(_COOKIE, self._key, path=self.root, httponly=True, samesite="Strict")
        return answer


def _same(given: str | None, expected: str | None) -> bool:
    """Compare two secrets in constant time."""
    return bool(given and expected) and hmac.compare_digest(str(given).encode(), str(expected).encode())
