"""The table of all resources of the HTTP API, from which the server and the OpenAPI document are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, TypeAdapter

from engram.http import entries, reads, shapes, tools, writes
from engram.http.calls import JSON, MERGE_PATCH
from engram.http.conditions import KEY_HEADER, MATCH_HEADER, NONE_MATCH_HEADER
from engram.mcp.tools.arguments import make_annotation
from engram.mcp.tools.core import TOOLS
from engram.mcp.tools.schema import compact
from engram.operations.description import HTTP, Operation
from engram.operations.lookup import DELTA, LIST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

ROOT = "/api/v1"
DOCUMENT = f"{ROOT}/openapi.json"
# These need no token, but without it tell nothing about the store.
PUBLIC = frozenset({f"{ROOT}/health", "/health"})


class Resource(NamedTuple):
    """A method and a path below /api/v1, its handler, and the description of its requests and answers.

    `answers` is the model of the answer, its schema, or its media type; `takes` are the possible schemas of the body.
    `parameters` are those of the query string, `headers` those of the request that it uses, `media` the types of the
    body. `statuses` are those of its answers besides the ones that all resources share.
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


def _query_string(operation: Operation) -> tuple[dict[str, Any], ...]:
    """Return the parameters of an operation for a query string, where each item of a list is a parameter."""
    return tuple(
        {
            "name": parameter.item or parameter.name,
            "in": "query",
            "required": False,
            "schema": compact(TypeAdapter(make_annotation(parameter)).json_schema())
            | ({"default": parameter.default} if parameter.default not in (None, "", ()) else {}),
            "description": parameter.help[:1].upper() + parameter.help[1:],
        }
        for parameter in operation.offered(HTTP)
    )


_RECORD, _QUERY, _FEEDBACK = (
    TOOLS[name].parameters for name in ("recall_record", "recall_query", "recall_feedback")
)
_ENTRY = {
    **_RECORD,
    "properties": {**_RECORD["properties"], **shapes.Sent.model_json_schema()["properties"]},
}
_SEVERAL = shapes.Batch.model_json_schema()
_SEVERAL["properties"]["lore"] = {
    "type": "array",
    "items": _ENTRY,
    "minItems": 1,
    "maxItems": shapes.MOST_LORE,
}

_JUDGED = (_FEEDBACK, shapes.FeedbackList)
_MERGE = (JSON, MERGE_PATCH)
_SENT, _NAMED = (
    (408, 413, 415, 422),
    (404, 409, 422),
)  # errors of requests with a body; of those that name an entry
_ONCE, _STILL, _NEW = (KEY_HEADER,), (KEY_HEADER, MATCH_HEADER), (KEY_HEADER, MATCH_HEADER, NONE_MATCH_HEADER)
_TOOLS = [
    Resource(
        "POST", f"/tools/{tool.name}", tools.make_handler(tool), tool.name, tool.fn_metadata.output_schema or {},
        (tool.parameters,), (), (404, 409, *_SENT),
    )
    for tool in tools.list_tools()
]  # fmt: skip
RESOURCES = (
    Resource("POST", "/lore", writes.record, "recordLore", shapes.Ingest, (_ENTRY, _SEVERAL), (), (409, *_SENT), True, _ONCE),
    Resource("GET", "/lore", reads.listing, "listLore", shapes.Listed, (), _query_string(LIST), (422,)),
    Resource("GET", "/lore/delta", reads.list_changes, "changedLore", shapes.Changed, (), _query_string(DELTA), (410, 422)),
    Resource("GET", "/lore/snapshot", reads.everything, "allLore", "application/x-ndjson"),
    Resource(
        "POST", "/lore/feedback", writes.feedback, "judgeLore", shapes.FeedbackDone, _JUDGED, (), (*_NAMED, *_SENT), False, _ONCE
    ),
    Resource("GET", "/lore/{id}", reads.entry, "readLore", shapes.OneLore, (), (), (304, *_NAMED), False, (NONE_MATCH_HEADER,)),
    Resource("PUT", "/lore/{id}", entries.put, "putLore", shapes.PutDone, (shapes.Whole,), (), (409, 412, *_SENT), True, _NEW),
    Resource(
        "PATCH", "/lore/{id}", entries.change, "changeLore", shapes.Patched, (shapes.Changes,), (), (412, *_NAMED, *_SENT),
        False, _STILL, _MERGE,
    ),
    Resource("DELETE", "/lore/{id}", entries.delete, "deleteLore", shapes.Deleted, (), (), (412, *_NAMED), False, _STILL),
    Resource("POST", "/query", reads.query, "recallLore", shapes.Answered, (_QUERY,), (), _SENT),
    Resource(
        "POST", "/consolidate", entries.consolidate, "consolidateLore", shapes.Tidied, (shapes.Tidying,), (), (*_NAMED, *_SENT),
        headers=_ONCE, body_needed=False,
    ),
    Resource(
        "POST", "/sync", entries.sync, "syncStore", shapes.SyncDone, (shapes.Syncing,), (), (409, 502, *_SENT), body_needed=False
    ),
    *_TOOLS,
    Resource("GET", "/health", reads.health, "health", shapes.Health),
    Resource("GET", "/metrics", reads.metrics, "metrics", "text/plain"),
)  # fmt: skip
