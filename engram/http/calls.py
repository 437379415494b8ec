"""Requests as calls of Engram: the caller, the body, and the work in a thread."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel
from pydantic import ValidationError as ShapeError
from starlette.responses import JSONResponse

from engram.domain.errors import NotFoundError, ValidationError
from engram.domain.text.safe_text import safe_json, safe_text
from engram.http.problems import ProblemError, from_validation_error, refusal
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
_LONGEST_NAME = 100  # characters
# An id, the start of one, or a session ref, but no words, since they may match another entry.
_NAME = re.compile(r"(?:[0-9A-HJKMNP-TV-Z]{4,26}|L[1-9][0-9]{0,8})", re.IGNORECASE)


async def use_store(request: Request, work: Callable[[Engram], T], *, index: bool = True) -> T:
    """Return the result of `work` on the server's store, as the session and agent of the request. Raises EngramError."""
    memory: Memory = request.app.state.memory
    return await memory.run(caller_of(request), work, index=index)


def caller_of(request: Request) -> Caller:
    """Return the caller of a request. Requests without a session share that of their `source_id` or address."""
    client = getattr(request.state, "client", "")
    address = request.client.host if request.client else "unknown"
    session = _header_name(request, SESSION_HEADER) or f"http-{client or address}"
    agent = _header_name(request, AGENT_HEADER) or client or "http"
    return Caller(session, agent, _ignore_progress, "http", client)


def note_sender(request: Request, source_id: str) -> None:
    """Note the client that the body names as the sender."""
    request.state.client = plain_name(source_id)


def _header_name(request: Request, header: str) -> str:
    """Return the name in a header, in one safe line, "" if it is missing."""
    return " ".join(safe_text(request.headers.get(header, "")).split())[:_LONGEST_NAME]


async def _ignore_progress(_done: float, _total: float, _message: str) -> None:
    """Drop progress, which plain HTTP cannot report."""


def name_in_path(request: Request) -> str:
    """Return the name of the entry in the path. Raises NotFoundError if it is neither an id nor a ref."""
    name = str(request.path_params["id"])
    if not _NAME.fullmatch(name):
        raise NotFoundError(
            f"There is no entry '{safe_text(name)[:60]}'.",
            "Give an id, the start of one, or a session ref like L1.",
        )
    return name


async def read_body(request: Request, *kinds: str) -> Any:
    """Return the JSON of a request; `kinds` are media types besides JSON. Raises ProblemError if it is not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, *kinds):
        raise refusal(415, "not-json", "The body must be JSON.", f"Send Content-Type: {JSON}.")
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):  # including UnicodeDecodeError
        raise refusal(400, "not-json", "The body is not JSON.", "Send one JSON document in UTF-8.") from None


def parse_body(model: type[M], body: Any, at: str = "") -> M:
    """Validate a body, or the part of it at the path `at`. Raises ProblemError with the wrong fields."""
    try:
        return model.model_validate(body)
    except ShapeError as error:
        raise from_validation_error(error, at) from None


def parse_arguments(tool: LoreTool, body: Any, at: str = "") -> dict[str, Any]:
    """Return a body as arguments of an MCP tool. Raises ProblemError with the wrong fields."""
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
    """A JSON response, escaped by `safe_json`."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return safe_json(text).encode("utf-8", "replace")
