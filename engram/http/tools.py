"""Tools of the MCP server as resources: the same arguments, and the data of the same answers, from the same functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.http.calls import Json, arguments_of, body_of, caller_of
from engram.mcp.caller import speaking_for
from engram.mcp.tools import tools_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from engram.mcp.tools.tool import LoreTool

    Handler = Callable[[Request], Awaitable[Response]]

SETS = ("explore", "skills", "graph", "team")
_OWN = "recall_skill"  # it changes nothing but counts of use


def tools() -> list[LoreTool]:
    """The tools that are resources: of these sets what does not change lore, and has no resource of its own."""
    return [tool for tool in tools_of(SETS) if tool.name == _OWN or tool.only_reads]


def handler_of(tool: LoreTool) -> Handler:
    """What answers a request for a tool; its docstring is the tool's."""

    async def handle(request: Request) -> Response:
        arguments = arguments_of(tool, await body_of(request))
        with speaking_for(request.app.state.memory, caller_of(request)):
            result = await tool.fn(**arguments)
        return Json(result.structured_content)

    handle.__doc__ = tool.description
    return handle
