"""What a client says of itself: the folders it works in (its roots) and its name."""

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

# From this protocol on a server asks by its result, not by a request of its own.
_ASKED_BY_RESULT = "2026-07-28"
_KEY = "folders"
_PATIENCE_SECONDS = 2.0
_LONGEST_NAME = 40
_MOST = 20


async def ask(ctx: ServerRequestContext[Any, Any]) -> list[str] | dict[str, Any]:
    """The client's local folders; none where it has none or does not answer soon. A dict is the result that asks it."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    if is_version_at_least(ctx.protocol_version, _ASKED_BY_RESULT):
        return _folders_of(ctx)
    try:
        with anyio.fail_after(_PATIENCE_SECONDS):
            return _local(await ctx.session.send_request(ListRootsRequest(), ListRootsResult))
    except Exception:  # noqa: BLE001 - a client's trouble with its roots must not cost it its memory
        return []


def _folders_of(ctx: ServerRequestContext[Any, Any]) -> list[str] | dict[str, Any]:
    """What a call says of the client's folders, or the result that makes it call again and say it."""
    answers = (ctx.params or {}).get("inputResponses")
    if not isinstance(answers, dict) or _KEY not in answers:
        question = InputRequiredResult(input_requests={_KEY: ListRootsRequest()})
        return question.model_dump(by_alias=True, mode="json", exclude_none=True)
    try:
        return _local(ListRootsResult.model_validate(answers[_KEY]))
    except ValidationError:
        return []


def agent_of(client: str) -> str:
    """The name under which a client's lore is recorded: what it calls itself, as one plain word."""
    return re.sub(r"[^a-z0-9.]+", "-", client.lower()).strip("-.")[:_LONGEST_NAME]


def _local(roots: ListRootsResult) -> list[str]:
    paths = [_path(str(root.uri)) for root in roots.roots[:_MOST]]
    return [path for path in paths if path and os.path.isdir(path)]


def _path(uri: str) -> str:
    """The path of a file URI on this machine, "" for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = unquote(parts.path)
    if re.match(r"/[A-Za-z]:", path):  # file:///C:/work
        path = path[1:]
    return "" if "\0" in path else path
