"""Who comes in, how often and with how much: Host and Origin, a rate for each client, the token, the size of a body."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.datastructures import Headers
from starlette.requests import Request

from engram.http.problems import ProblemError, refused, response
from engram.serving import knows

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 4 * 1024 * 1024
RATE = 1200  # requests a minute from one address
_BURST_SHARE = 0.25
_MOST_CLIENTS = 4096
_MINUTE = 60.0
_BY_HOST = {421: "misdirected", 403: "forbidden"}


class Rate:
    """A bucket for each client that fills evenly: so many requests a minute, a quarter of them at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`per_minute` 0 lets everything through; `clock` in seconds."""
        self._per_second = per_minute / _MINUTE
        self._most = max(1.0, per_minute * _BURST_SHARE)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, client: str) -> float:
        """How many seconds a client must wait before its next request; 0 lets this one through and counts it."""
        if not self._per_second:
            return 0.0
        now = self._clock()
        left, before = self._buckets.pop(client, (self._most, now))
        left = min(self._most, left + (now - before) * self._per_second)
        wait = 0.0 if left >= 1 else (1 - left) / self._per_second
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _MOST_CLIENTS:  # who was not here for longest has a full bucket anyway
            del self._buckets[next(iter(self._buckets))]
        return wait


class Entrance:
    """The app for those alone who may come in. Paths in `public` are answered without the token."""

    def __init__(
        self, app: ASGIApp, rules: TransportSecuritySettings, token: str, rate: Rate, public: frozenset[str]
    ) -> None:
        """`rules` say which hosts and origins are let in."""
        self._app, self._token, self._rate, self._public = app, token, rate, public
        self._security = TransportSecurityMiddleware(rules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._check(scope)
            body = await _body(scope, receive)
        except ProblemError as problem:
            await response(problem, scope["path"])(scope, receive, send)
            return
        await self._app(scope, _once(body, receive), send)

    async def _check(self, scope: Scope) -> None:
        wrong = await self._security.validate_request(Request(scope))
        if wrong is not None:
            said = bytes(wrong.body).decode()
            raise refused(
                wrong.status_code,
                _BY_HOST[wrong.status_code],
                f"{said}.",
                "See --allow-host of `engram serve`.",
            )
        wait = self._rate.wait(scope["client"][0] if scope.get("client") else "")
        if wait:
            seconds = str(int(wait) + 1)
            raise refused(
                429, "too-many", "Too many requests.", f"Wait {seconds} s.", {"retry-after": seconds}
            )
        scope["state"] = {**scope.get("state", {}), "known": self._knows(scope)}
        if not scope["state"]["known"] and scope["path"] not in self._public:
            hint = "Send the header Authorization: Bearer TOKEN; `engram serve` says where the token is."
            raise refused(
                401, "unauthorized", "The token is missing or wrong.", hint, {"www-authenticate": "Bearer"}
            )

    def _knows(self, scope: Scope) -> bool:
        return knows(Headers(scope=scope).get("authorization", ""), self._token)


async def _body(scope: Scope, receive: Receive) -> bytes:
    """The body of a request. Raises ProblemError for one that is too large, however it is sent."""
    declared = Headers(scope=scope).get("content-length", "")
    body = bytearray()
    too_large = declared.isdecimal() and int(declared[:20]) > MOST_BYTES
    while not too_large:
        message = await receive()
        body += message.get("body", b"")
        too_large = len(body) > MOST_BYTES
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    if too_large:
        raise refused(
            413, "too-large", f"A request has at most {MOST_BYTES:,} bytes.", "Send fewer lore at once."
        )
    return bytes(body)


def _once(body: bytes, receive: Receive) -> Receive:
    """What gives the body that was read already, then what else comes."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
