"""The folders that a client works in (its roots), and its name."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
from mcp.server.context import ServerRequestContext
from mcp_types import InputRequiredResult, ListRootsRequest, ListRootsResult
from mcp_types.version import is_version_at_least
from pydantic import ValidationError

# From this version of the protocol on, a server asks by its result instead of a request.
_ASKS_BY_RESULT = "2026-07-28"
_KEY = "folders"
_PATIENCE_SECONDS = 2.0
_LONGEST_NAME = 40  # characters
_MOST_ROOTS = 20


async def ask(ctx: ServerRequestContext[Any, Any]) -> list[str] | dict[str, Any]:
    """Return the client's local folders, [] if it has none or does not answer in time; or a result that asks for them."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    if is_version_at_least(ctx.protocol_version, _ASKS_BY_RESULT):
        return _ask_by_result(ctx)
    try:
        with anyio.fail_after(_PATIENCE_SECONDS):
            return _local_folders(await ctx.session.send_request(ListRootsRequest(), ListRootsResult))
    except Exception:  # noqa: BLE001 - a client that fails to list its roots can still use its memory
        return []


def _ask_by_result(ctx: ServerRequestContext[Any, Any]) -> list[str] | dict[str, Any]:
    """Return the folders that a call names, or the result that makes the client call again and name them."""
    answers = (ctx.params or {}).get("inputResponses")
    if not isinstance(answers, dict) or _KEY not in answers:
        question = InputRequiredResult(input_requests={_KEY: ListRootsRequest()})
        return question.model_dump(by_alias=True, mode="json", exclude_none=True)
    try:
        return _local_folders(ListRootsResult.model_validate(answers[_KEY]))
    except ValidationError:
        return []


def agent_of(client: str) -> str:
    """Return the agent's name for the entries of a client: the client's own name as a plain word."""
    return re.sub(r"[^a-z0-9.]+", "-", client.lower()).strip("-.")[:_LONGEST_NAME]


def _local_folders(roots: ListRootsResult) -> list[str]:
    paths = [_path(str(root.uri)) for root in roots.roots[:_MOST_ROOTS]]
    return [path for path in paths if path and os.path.isdir(path)]


def _path(uri: str) -> str:
    """Return the path of a file URI on this machine, "" for any other URI."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = unquote(parts.path)
    if re.match(r"/[A-Za-z]:", path):  # file:///C:/work
        path = path[1:]
    return "" if "\0" in path else path
