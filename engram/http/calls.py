"""A request as a call of Engram: who is calling, what the body says, and the work in a thread."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel
from pydantic import ValidationError as ShapeError
from starlette.responses import JSONResponse

from engram.domain.errors import NotFoundError, ValidationError
from engram.domain.text.safe_text import safe_json, safe_text
from engram.http.problems import ProblemError, of_shape, refusal
from engram.mcp.memory import Caller, Memory
from engram.usecases.store.judgements import plain_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from engram.app import Engram
    from engram.mcp.tools.tool import LoreTool

    T = TypeVar("T")
    M = TypeVar("M", bound=BaseModel)

JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"
SESSION_HEADER, AGENT_HEADER = "engram-session", "engram-agent"
_LONGEST_NAME = 100
# An id, the start of one, or a session ref; words may fit another entry.
_NAME = re.compile(r"(?:[0-9A-HJKMNP-TV-Z]{4,26}|L[1-9][0-9]{0,8})", re.IGNORECASE)


async def work(request: Request, do: Callable[[Engram], T], *, index: bool = True) -> T:
    """What `do` returns for the server's store, as the session and agent that the request names. Raises EngramError."""
    memory: Memory = request.app.state.memory
    return await memory.run(caller_of(request), do, index=index)


def caller_of(request: Request) -> Caller:
    """Who names no session has one with all others of its `source_id`, or from its address."""
    client = getattr(request.state, "client", "")
    address = request.client.host if request.client else "unknown"
    session = _plain(request.headers.get(SESSION_HEADER, "")) or f"http-{client or address}"
    agent = _plain(request.headers.get(AGENT_HEADER, "")) or client or "http"
    return Caller(session, agent, _nobody_listens, "http", client)


def note_sender(request: Request, source_id: str) -> None:
    """Note whom the body names as the client that sends the request."""
    request.state.client = plain_name(source_id)


def _plain(name: str) -> str:
    return " ".join(safe_text(name).split())[:_LONGEST_NAME]


async def _nobody_listens(_done: float, _total: float, _message: str) -> None:
    """Progress has nowhere to go over plain HTTP."""


def name_in_path(request: Request) -> str:
    """The name in the path. Raises NotFoundError for what names no entry."""
    name = str(request.path_params["id"])
    if not _NAME.fullmatch(name):
        raise NotFoundError(
            f"There is no entry '{safe_text(name)[:60]}'.",
            "Give an id, the start of one, or a session ref like L1.",
        )
    return name


async def body_of(request: Request, *kinds: str) -> Any:
    """The JSON of a request, which may be of these media types too. Raises ProblemError where it has none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, *kinds):
        raise refusal(415, "not-json", "The body must be JSON.", f"Send Content-Type: {JSON}.")
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):  # a decoding error is one, too
        raise refusal(400, "not-json", "The body is not JSON.", "Send one JSON document in UTF-8.") from None


def parse_body(model: type[M], body: Any, at: str = "") -> M:
    """The body as the shape it should have. Raises ProblemError with each place where it has not."""
    try:
        return model.model_validate(body)
    except ShapeError as error:
        raise of_shape(error, at) from None


def arguments_of(tool: LoreTool, body: Any, at: str = "") -> dict[str, Any]:
    """The body as the arguments of a tool of the MCP server. Raises ProblemError where it has not that shape."""
    known = tool.parameters["properties"]
    if isinstance(body, dict):
        unknown = [name for name in body if name not in known]
        if unknown:
            field = f"{at}.{unknown[0]}" if at else unknown[0]
            message = f"The request is not valid: there is no '{safe_text(unknown[0])[:100]}'."
            raise ProblemError(
                422, ValidationError(field[:200], message, f"It may have: {', '.join(known)}.")
            )
    return parse_body(tool.fn_metadata.arg_model, body, at).model_dump_one_level()


class Json(JSONResponse):
    """JSON in which every text is safe on a screen, whatever the entries say."""

    def render(self, content: Any) -> bytes:
        """The bytes."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return safe_json(text).encode("utf-8", "replace")
