"""Checks of requests: the token, the rate of each client, Host and Origin, the size of the body.

The token is checked first. Requests without it have their own rate, so a flood of them takes nothing from the clients
that have it, even if all come from one address. Their bodies are never read.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request

from engram.serving.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from engram.serving.limits import Limits

MOST_BYTES = 4 * 1024 * 1024
ADMIT = "admit"  # key in the state of a request: a function to call once it has shown the token
_TRANSPORT_CODES = {421: "misdirected", 403: "forbidden"}


class RefusedError(Exception):
    """The reason for refusing a request: status, code, message and hint (sentences), and headers of the answer."""

    def __init__(
        self, status: int, code: str, message: str, hint: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint
        self.headers = dict(headers or {})


class Entrance:
    """Middleware that admits requests to an app. Paths in `public` need no token."""

    def __init__(
        self,
        app: ASGIApp,
        rules: TransportSecuritySettings,
        token: str,
        limits: Limits,
        answer: Callable[[RefusedError, str], ASGIApp],
        public: frozenset[str] = frozenset(),
    ) -> None:
        """`rules` are the allowed hosts and origins; `answer` makes the answer to a refused request for a path."""
        self._app, self._token, self._answer, self._public = app, token, answer, public
        self._rates = {True: Rate(limits.rate), False: Rate(limits.anonymous_rate)}
        self._body_seconds = limits.body_seconds
        self._security = TransportSecurityMiddleware(rules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request, or answer why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        known = _knows(Headers(scope=scope).get("authorization", ""), self._token)
        state = scope["state"] = {**scope.get("state", {}), "known": known}
        if known and ADMIT in state:
            state[ADMIT]()
        try:
            await self._check(scope, known=known)
            body = await self._body(scope, receive) if known else b""
        except RefusedError as refused:
            await self._answer(refused, scope["path"])(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replay_body(body, receive), send)

    async def _check(self, scope: Scope, *, known: bool) -> None:
        wait = self._rates[known].wait(scope["client"][0] if scope.get("client") else "")
        if wait:
            seconds = str(int(wait) + 1)
            raise RefusedError(
                429, "too-many", "Too many requests.", f"Wait {seconds} s.", {"retry-after": seconds}
            )
        wrong = await self._security.validate_request(Request(scope))
        if wrong is not None:
            sentence = f"{bytes(wrong.body).decode()}."
            code = _TRANSPORT_CODES[wrong.status_code]
            raise RefusedError(wrong.status_code, code, sentence, "See --allow-host.")
        if not known and scope["path"] not in self._public:
            hint = "Send the header Authorization: Bearer TOKEN; the server says where the token is when it starts."
            raise RefusedError(
                401, "unauthorized", "The token is missing or wrong.", hint, {"www-authenticate": "Bearer"}
            )

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body of a request, None if the client disconnected. Raises RefusedError."""
        try:
            async with asyncio.timeout(self._body_seconds):
                return await _read(scope, receive)
        except TimeoutError:
            raise RefusedError(
                408,
                "timeout",
                f"The request was not complete within {self._body_seconds:g} s.",
                "Send it again.",
                {"connection": "close"},
            ) from None


def _knows(header: str, token: str) -> bool:
    """Return whether an `Authorization` header has the token."""
    scheme, _, sent = header.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(sent.strip().encode(), token.encode())


async def _read(scope: Scope, receive: Receive) -> bytes | None:
    """Return the body, with or without a declared length. Raises RefusedError if it is too large."""
    declared = Headers(scope=scope).get("content-length", "")
    body = bytearray()
    too_large = declared.isdecimal() and int(declared[:20]) > MOST_BYTES
    more = True
    while more and not too_large:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        too_large = len(body) > MOST_BYTES
        more = message.get("more_body", False)
    if too_large:
        raise RefusedError(
            413, "too-large", f"A request has at most {MOST_BYTES:,} bytes.", "Send less in one request."
        )
    return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that first gives the body that was read already."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
