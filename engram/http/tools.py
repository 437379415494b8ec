"""MCP tools as resources: the same functions, with the same arguments and the data of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.http.calls import Json, caller_of, parse_arguments, read_body
from engram.mcp.caller import bind_caller
from engram.mcp.tools import tools_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from engram.mcp.tools.tool import LoreTool

    Handler = Callable[[Request], Awaitable[Response]]

SETS = ("explore", "skills", "graph", "team")
_ALSO = "recall_skill"  # changes only counts of use


def list_tools() -> list[LoreTool]:
    """Return the tools that are resources: those of the sets that do not change lore."""
    return [tool for tool in tools_of(SETS) if tool.name == _ALSO or tool.only_reads]


def make_handler(tool: LoreTool) -> Handler:
    """Return the handler of requests for a tool. Its docstring is the tool's description."""

    async def handle(request: Request) -> Response:
        arguments = parse_arguments(tool, await read_body(request))
        with bind_caller(request.app.state.memory, caller_of(request)):
            result = await tool.fn(**arguments)
        return Json(result.structured_content)

    handle.__doc__ = tool.description
    return handle
