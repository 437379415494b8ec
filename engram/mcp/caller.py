"""Who is calling: what the server knows of a client before any tool, resource or prompt is at work.

The SDK hands a call's context to tools only; static resources and completions get none. So a middleware notes
it for all of them, and asks the client where it works the first time that this matters.
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


_ASKING = {"tools/call", "resources/read", "prompts/get"}  # these can ask back, in every protocol
_USING = _ASKING | {"completion/complete"}
_current: ContextVar[tuple[Memory, Caller]] = ContextVar("engram_caller")


class Callers:
    """The middleware of a server."""

    def __init__(self, memory: Memory) -> None:
        """`memory` is the server's; a process that serves one client over stdio is one session."""
        self._memory = memory
        self._session = named_session(os.environ) or f"mcp-{os.getpid()}-{time.time_ns():x}"

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Note who is calling, then go on."""
        if ctx.method not in _USING:
            return await call_next(ctx)
        if ctx.method in _ASKING and self._memory.wants_folders:
            found = await folders.ask(ctx)
            if isinstance(found, dict):
                return found
            self._memory.folders = found
        _current.set((self._memory, self._caller(ctx)))
        return await call_next(ctx)

    def _caller(self, ctx: ServerRequestContext[Any, Any]) -> Caller:
        """Over HTTP each connection is a session of its own, and the environment says nothing of the agent."""
        client = ctx.session.client_params
        agent = folders.agent_of(client.client_info.name) if client else ""
        headers = getattr(ctx.request, "headers", None)
        if headers is None:
            return Caller(self._session, agent_name(os.environ) or agent, ctx.session.report_progress)
        connection = headers.get("mcp-session-id", "")[:60]
        session = f"mcp-{connection}" if connection else self._session
        return Caller(session, agent, ctx.session.report_progress)


@contextmanager
def speaking_for(memory: Memory, caller: Caller) -> Iterator[None]:
    """Within this, `use` works on this memory for this caller: for who calls a tool without the protocol."""
    token = _current.set((memory, caller))
    try:
        yield
    finally:
        _current.reset(token)


async def use(work: Work[T], *, index: bool = True, apart: bool = False) -> T:
    """What `work` returns for the server's store, as the session and agent that is calling; see `Memory.run`."""
    memory, caller = _current.get()
    return await memory.run(caller, work, index=index, apart=apart)
