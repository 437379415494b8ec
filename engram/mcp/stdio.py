"""The server over standard input and output. Its only client starts the process, and ends it by closing its input."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from engram.adapters.absent_packages import without_packages
from engram.domain.errors import INTERRUPTED
from engram.mcp.handshake import Handshake, answer_handshake

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.shared.message import SessionMessage


def serve(sets: tuple[str, ...], store: str | None = None, scope: str = "") -> NoReturn:
    """Serve a memory with the tools of these sets until the input ends, then end the process at once.

    The SDK points descriptor 1 at standard error, so that only the protocol reaches the client.
    A thread stuck on a disk must not keep the process alive, hence no orderly shutdown of Python: acknowledged writes
    are on disk, and what waits for git is in the journal.
    """
    # A blocked read of the input would outlive an ordinary exit.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from engram.adapters import heap_limits
    from engram.mcp.tools import CORE

    heap_limits.limit_arenas()  # before a thread loads the SDK
    handshake = answer_handshake(_load, with_tools=sets == (CORE,))
    if handshake.ended and not any(line.strip() for line in handshake.lines[len(handshake.answered) :]):
        os._exit(0)
    import anyio

    from engram.mcp.memory import Memory, Opening
    from engram.mcp.server import build

    code, memory = 0, Memory(Opening(store, scope))
    try:
        anyio.run(_run, build(memory, sets), handshake)
    except BaseException as error:  # noqa: BLE001 - the process ends here anyway
        code = 0 if _is_only(error, (BrokenPipeError, EOFError)) else 1
        if code:
            sys.stderr.write(f"engram mcp: {type(error).__name__}: {error}\n")
    memory.leave()
    os._exit(code)


def _load() -> None:
    """Import what the server needs. Errors are ignored here: the import that needs it raises them again.

    The SDK's package for server-sent events imports uvicorn if it is installed: 3 MB that only HTTP needs.
    """
    import contextlib

    with contextlib.suppress(Exception), without_packages("uvicorn"):
        import engram.mcp.server  # noqa: F401


async def _run(server: MCPServer[object], handshake: Handshake) -> None:
    """Serve, beginning with the lines of the handshake, without answering its requests again."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (requests, answers):
        lowlevel = server._lowlevel_server  # noqa: SLF001 - as run_stdio_async does, which takes no streams
        options = lowlevel.create_initialization_options()
        await lowlevel.run(
            _ReplayStream(requests, handshake.lines), _AnswerFilter(answers, handshake.answered), options
        )


class _StreamWrapper:
    """A stream of the SDK, of which subclasses override one method."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.aclose()


class _ReplayStream(_StreamWrapper):
    """The messages of the client, beginning with lines that were read before."""

    def __init__(self, stream: Any, lines: tuple[bytes, ...]) -> None:
        super().__init__(stream)
        self._lines = [line for line in lines if line.strip()]

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or the error if it is invalid."""
        if not self._lines:
            found: SessionMessage | Exception = await self._stream.receive()
            return found
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        text = self._lines.pop(0).decode("utf-8", "replace")
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        except Exception as error:  # noqa: BLE001 - as the SDK's own reader does
            return error

    def __aiter__(self) -> _ReplayStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _AnswerFilter(_StreamWrapper):
    """The messages to the client, without the answers that it has already."""

    def __init__(self, stream: Any, answered: frozenset[int | str]) -> None:
        super().__init__(stream)
        self._answered: set[object] = {*answered}

    async def send(self, item: SessionMessage) -> None:
        """Send a message, unless it answers a request of the handshake."""
        request_id = None if hasattr(item.message, "method") else item.message.id
        if request_id in self._answered:
            self._answered.discard(request_id)
            return
        await self._stream.send(item)


def _is_only(error: BaseException, kinds: tuple[type[BaseException], ...]) -> bool:
    """Return whether an error, or each error of a group, is of these kinds."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_only(each, kinds) for each in error.exceptions)
    return isinstance(error, kinds)
