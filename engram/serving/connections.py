"""Connections with time limits for slow clients.

uvicorn waits forever for the rest of a request's head, for the rest of a body that nobody reads, and for a client to
read its answer. Here a client has a fixed time from its first byte until it has sent the token or read the answer.
Clients with the token may take their time for the answer; their bodies have their own time limit at the entrance.

Of the connections without the token only the newest are kept. The backlog is far smaller than their number, so a
client that sends its request at once is served before its connection could be closed.
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
    """A connection of a server. The class variables are shared by all connections of the server."""

    limits: ClassVar[Limits]
    waiting: ClassVar[dict[Connection, None]]  # those without the token, the oldest first

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Take the arguments that uvicorn passes."""
        super().__init__(config, server_state, {**app_state, ADMIT: self._admit}, _loop)
        self._timer: asyncio.TimerHandle | None = None
        self._admitted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        # asyncio does this only for sockets with a protocol number, which those of socket.create_server lack. Without
        # it, the body of an answer waits 40 ms for the client to acknowledge its head.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._start_timer()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read data. The time runs from the first byte, so that sending single bytes does not extend it."""
        if not self._admitted:
            self._start_timer()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Go on to the next request; the time runs if the client has not sent the rest of this one."""
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
        """Note that the current request has the token."""
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
    """Return the connection class of one server."""

    class Limited(Connection):
        pass

    Limited.limits, Limited.waiting = limits, {}
    return Limited
