"""Connections that end where their clients keep the server waiting.

uvicorn waits without end for the rest of a request's head, for the rest of a body that nobody reads, and for a client
to take its answer. Here a client has a fixed time from its first byte until it has shown the token or taken the
answer. Clients with the token may take their time for the answer; their bodies have a time of their own at the entrance.

Of the connections that have not shown the token only the newest are kept. The number of those that are accepted at
once is far smaller, so a client that sends its request at once has been heard before its connection could be ended.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from engram.serving.request_checks import ADMIT

if TYPE_CHECKING:
    import asyncio

    from uvicorn import Config
    from uvicorn.server import ServerState

    from engram.serving.limits import Limits


class Connection(H11Protocol):
    """A connection of a server; the limits and those that are waiting are shared by all of one server."""

    limits: ClassVar[Limits]
    waiting: ClassVar[dict[Connection, None]]  # without the token, the oldest first

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """As uvicorn makes it."""
        super().__init__(config, server_state, {**app_state, ADMIT: self._admit}, _loop)
        self._timer: asyncio.TimerHandle | None = None
        self._admitted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        # asyncio does this only for sockets that name their protocol, which those of socket.create_server do not:
        # the body of an answer would wait 40 ms for the client's acknowledgement of its head.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._start_timer()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on. The time runs from the first byte, so that single bytes do not put the end off."""
        if not self._admitted:
            self._start_timer()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Go on to the next request; the time runs where the client still owes the rest of this one."""
        self._stop_timer()
        if not self._admitted:
            self._wait()
        self._admitted = False
        super().on_response_complete()
        idle = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        if not idle or self.transport.is_closing():
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def _admit(self) -> None:
        """The request that is being answered has shown the token."""
        self._stop_timer()
        self._admitted = True
        self.waiting.pop(self, None)

    def _wait(self) -> None:
        self.waiting[self] = None
        if len(self.waiting) > self.limits.waiting:
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.transport.abort()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.limits.head_seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def connection_class(limits: Limits) -> type[Connection]:
    """The kind of connections of one server."""

    class Limited(Connection):
        pass

    Limited.limits, Limited.waiting = limits, {}
    return Limited
