"""The server over standard input and output: one client, which started this process and ends it by closing its input."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import anyio

from engram.domain.errors import INTERRUPTED

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from engram.mcp.memory import Memory


def serve(server: MCPServer[object], memory: Memory) -> NoReturn:
    """Serve until the input ends, then end the process at once.

    The SDK points descriptor 1 at standard error meanwhile, so that only the protocol reaches the client.
    A thread stuck on a disk must keep neither this process nor its client, hence no orderly end of Python:
    what was acknowledged is on disk, and what waits for git is in the journal.
    """
    signal.signal(
        signal.SIGINT, lambda *_: os._exit(INTERRUPTED)
    )  # a blocked read of the input would outlive it
    code = 0
    try:
        anyio.run(server.run_stdio_async)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the process ends here
        code = 0 if _only(error, (BrokenPipeError, EOFError)) else 1
        if code:
            sys.stderr.write(f"engram mcp: {type(error).__name__}: {error}\n")
    memory.leave()
    os._exit(code)


def _only(error: BaseException, kinds: tuple[type[BaseException], ...]) -> bool:
    """Whether an error, or each one of a group, is of these kinds."""
    if isinstance(error, BaseExceptionGroup):
        return all(_only(one, kinds) for one in error.exceptions)
    return isinstance(error, kinds)
