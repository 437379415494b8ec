"""Every resource of the HTTP API: the one table that the server and the OpenAPI document are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from engram.domain.entry.lore import STATUSES
from engram.http import putting, reading, shapes, tools, writing
from engram.http.calls import JSON, MERGE_PATCH
from engram.http.conditions import KEY_HEADER, MATCH_HEADER, NONE_MATCH_HEADER
from engram.mcp.tools.core import TOOLS
from engram.usecases.lookup.listing import SORTS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel
    from starlette.requests import Request
    from starlette.responses import Response

ROOT = "/api/v1"
DOCUMENT = f"{ROOT}/openapi.json"
PUBLIC = frozenset(
    {f"{ROOT}/health", "/health"}
)  # answered without the token, and then without a word about the store


class Resource(NamedTuple):
    """One operation: method, path below /api/v1, what does it, what it takes and answers.

    `takes` are JSON schemas of which the body has one; `answers` is the model of the answer, its schema, or its media type;
    `parameters` are those of the query string, `headers` those of the request that count here, `media` the types that
    the body may have; `statuses` are what it may answer besides what all share.
    """

    method: str
    path: str
    handler: Callable[[Request], Awaitable[Response]]
    name: str
    answers: type[BaseModel] | dict[str, Any] | str
    takes: tuple[dict[str, Any] | type[BaseModel], ...] = ()
    parameters: tuple[dict[str, Any], ...] = ()
    statuses: tuple[int, ...] = ()
    created: bool = False
    headers: tuple[str, ...] = ()
    media: tuple[str, ...] = (JSON,)
    body_needed: bool = True


def _parameter(name: str, schema: dict[str, Any], what: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": what}


_WORDS = {"type": "array", "items": {"type": "string"}}
_FILTERS = (
    _parameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": shapes.MOST_LISTED, "default": 20}, "How many"
    ),
    _parameter(
        "offset", {"type": "integer", "minimum": 0, "maximum": 999_999_999, "default": 0}, "After how many"
    ),
    _parameter("category", _WORDS, "Only these categories"),
    _parameter("tag", _WORDS, "Only lore with all of these tags"),
    _parameter("status", {"type": "string", "enum": list(STATUSES)}, "Only this status"),
    _parameter("sort", {"type": "string", "enum": list(SORTS), "default": "created"}, "By what"),
)
_SINCE = (
    _parameter(
        "since", {"type": "string"}, "The cursor of the answer before, or a time; nothing: since ever"
    ),
    _parameter("limit", {"type": "integer", "minimum": 1, "maximum": shapes.MOST_LISTED}, "How many changes"),
)
_RECORD, _QUERY, _FEEDBACK = (
    TOOLS[name].parameters for name in ("recall_record", "recall_query", "recall_feedback")
)
_SEVERAL = {
    **shapes.Batch.model_json_schema(),
    "properties": {
        **shapes.Batch.model_json_schema()["properties"],
        "lore": {"type": "array", "items": _RECORD, "minItems": 1, "maxItems": shapes.MOST_LORE},
    },
}

_JUDGED = (_FEEDBACK, shapes.FeedbackList)
_MERGE = (JSON, MERGE_PATCH)
_SENT, _NAMED = (408, 413, 415, 422), (404, 409, 422)  # errors of what has a body, of what names a lore
_ONCE, _STILL, _NEW = (KEY_HEADER,), (KEY_HEADER, MATCH_HEADER), (KEY_HEADER, MATCH_HEADER, NONE_MATCH_HEADER)
_TOOLS = [
    Resource(
        "POST", f"/tools/{tool.name}", tools.handler_of(tool), tool.name, tool.fn_metadata.output_schema or {}, (tool.parameters,),
        (), (404, 409, *_SENT),
    )
    for tool in tools.tools()
]  # fmt: skip
RESOURCES = (
    Resource("POST", "/lore", writing.take_in, "recordLore", shapes.Ingest, (_RECORD, _SEVERAL), (), (409, *_SENT), True, _ONCE),
    Resource("GET", "/lore", reading.listing, "listLore", shapes.Listed, (), _FILTERS, (422,)),
    Resource("GET", "/lore/delta", reading.changed, "changedLore", shapes.Changed, (), _SINCE, (410, 422)),
    Resource("GET", "/lore/snapshot", reading.everything, "allLore", "application/x-ndjson"),
    Resource(
        "POST", "/lore/feedback", writing.feedback, "judgeLore", shapes.FeedbackDone, _JUDGED, (), (*_NAMED, *_SENT), False, _ONCE
    ),
    Resource("GET", "/lore/{id}", reading.one, "readLore", shapes.OneLore, (), (), (304, *_NAMED), False, (NONE_MATCH_HEADER,)),
    Resource("PUT", "/lore/{id}", putting.put, "putLore", shapes.PutDone, (shapes.Whole,), (), (409, 412, *_SENT), True, _NEW),
    Resource(
        "PATCH", "/lore/{id}", putting.change, "changeLore", shapes.Patched, (shapes.Changes,), (), (412, *_NAMED, *_SENT),
        False, _STILL, _MERGE,
    ),
    Resource("DELETE", "/lore/{id}", putting.delete, "deleteLore", shapes.Deleted, (), (), (412, *_NAMED), False, _STILL),
    Resource("POST", "/query", reading.query, "recallLore", shapes.Answered, (_QUERY,), (), _SENT),
    Resource(
        "POST", "/sync", putting.sync, "syncStore", shapes.SyncDone, (shapes.Syncing,), (), (409, 502, *_SENT), body_needed=False
    ),
    *_TOOLS,
    Resource("GET", "/health", reading.health, "health", shapes.Health),
    Resource("GET", "/metrics", reading.metrics, "metrics", "text/plain"),
)  # fmt: skip
