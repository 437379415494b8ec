"""The caller of a tool, resource, prompt or completion: its session, agent and folders.

The SDK passes a call's context only to tools, not to static resources and completions. So a middleware keeps it in a
context variable for all of them, and asks the client for its folders the first time that they matter.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from engram.adapters.agents.session import agent_name, named_session
from engram.mcp import folders
from engram.mcp.memory import Caller, Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.app import Engram

    T = TypeVar("T")
    Work = Callable[[Engram], T]


_CAN_ASK = {
    "tools/call",
    "resources/read",
    "prompts/get",
}  # may ask the client back, in every version of the protocol
_USE_STORE = _CAN_ASK | {"completion/complete"}
_current: ContextVar[tuple[Memory, Caller]] = ContextVar("engram_caller")


class Callers:
    """The middleware of a server on a memory. Over stdio, the process is one session."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._session = named_session(os.environ) or f"mcp-{os.getpid()}-{time.time_ns():x}"

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Bind the caller, then handle the request."""
        if ctx.method not in _USE_STORE:
            return await call_next(ctx)
        if ctx.method in _CAN_ASK and self._memory.wants_folders:
            found = await folders.ask(ctx)
            if isinstance(found, dict):
                return found
            self._memory.folders = found
        _current.set((self._memory, self._caller(ctx)))
        return await call_next(ctx)

    def _caller(self, ctx: ServerRequestContext[Any, Any]) -> Caller:
        """Return the caller. Over HTTP each connection is its own session, and the environment does not name the agent."""
        client = ctx.session.client_params
        agent = folders.agent_of(client.client_info.name) if client else ""
        headers = getattr(ctx.request, "headers", None)
        if headers is None:
            return Caller(self._session, agent_name(os.environ) or agent, ctx.session.report_progress)
        connection = headers.get("mcp-session-id", "")[:60]
        session = f"mcp-{connection}" if connection else self._session
        return Caller(session, agent, ctx.session.report_progress)


@contextmanager
def bind_caller(memory: Memory, caller: Caller) -> Iterator[None]:
    """Make `use` work on a memory for a caller, to call a tool without the protocol."""
    token = _current.set((memory, caller))
    try:
        yield
    finally:
        _current.reset(token)


async def use(work: Work[T], *, index: bool = True, apart: bool = False) -> T:
    """Return the result of `work` on the server's store, as the calling session and agent; see `Memory.run`."""
    memory, caller = _current.get()
    return await memory.run(caller, work, index=index, apart=apart)
