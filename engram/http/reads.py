"""Resources that only read: entries, queries, changes, snapshots, health, metrics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from engram.domain.agents.framing import NOTICE
from engram.domain.entry import times
from engram.domain.errors import EngramError, UsageError, ValidationError
from engram.domain.explore.metrics import CONTENT_TYPE, prometheus
from engram.domain.text.safe_text import safe_json
from engram.http.calls import Json, name_in_path, parse_arguments, read_body, use_store
from engram.http.conditions import entity_tag, is_known, lore_json
from engram.http.problems import ProblemError
from engram.mcp.tools.core import TOOLS
from engram.operations.description import HTTP, TEXTS, WHOLE, Operation, Parameter
from engram.operations.lookup import DELTA, LIST
from engram.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

    from starlette.requests import Request

    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown

AS_OF_HEADER, CURSOR_HEADER = "engram-as-of", "engram-cursor"


async def query(request: Request) -> Response:
    """Recall lore by words and meaning."""
    given = parse_arguments(TOOLS["recall_query"], await read_body(request))
    text, scope = given.pop("query"), given.pop("scope")

    def work(engram: Engram) -> dict[str, object]:
        from engram.usecases.history.origin import known_origins
        from engram.usecases.opening.scopes import open_scope_of
        from engram.usecases.recall.answer_json import answer_json

        found = engram.query(text, **given, scopes=scope or ())
        origins = [known_origins(open_scope_of(engram.store, hit.scope), [hit.lore])[0] for hit in found.lore]
        return answer_json(found, [hit.lore.content for hit in found.lore], origins)

    return Json({"notice": NOTICE, **await use_store(request, work)})


async def listing(request: Request) -> Response:
    """Lore by filter and order, newest first unless `sort` says otherwise."""
    options = _query_arguments(request, LIST)

    def work(engram: Engram) -> dict[str, object]:
        from engram.usecases.lookup.listing import list_lore

        found = list_lore(engram.store, **options)
        return {"lore": [lore_json(shown) for shown in found.lore], "total": found.total}

    return Json(await use_store(request, work))


async def entry(request: Request) -> Response:
    """An entry by id, the start of one, or session ref."""
    name = name_in_path(request)

    def work(engram: Engram) -> Shown:
        from engram.usecases.store import activity_log

        shown = engram.get(name)
        activity_log.note(engram.store, "get", ids=[shown.lore.id])
        return shown

    shown = await use_store(request, work)
    tag = entity_tag(shown.digest)
    if is_known(request, shown.digest):
        return Response(None, 304, tag)
    return Json({"lore": lore_json(shown)}, headers=tag)


async def list_changes(request: Request) -> Response:
    """What changed in this clone since a cursor or a time: entries that came or are different, ids that went."""
    options = _query_arguments(request, DELTA)

    def work(engram: Engram) -> dict[str, object]:
        try:
            found = engram.delta(**options)
        except (ValidationError, UsageError) as error:  # `since` is neither a cursor nor a time in the past
            raise ProblemError(400, error) from None
        return {
            "lore": [lore_json(shown) for shown in found.lore],
            "created_ids": list(found.created_ids),
            "deleted_ids": list(found.deleted_ids),
            "as_of": times.render(found.as_of),
            "cursor": found.cursor,
            "more": found.more,
        }

    return Json(await use_store(request, work))


async def everything(request: Request) -> Response:
    """All lore as JSON Lines, oldest first; the headers say what to send as `since` afterwards."""

    def begin(engram: Engram) -> tuple[dict[str, str], list[Shown] | None]:
        from engram.usecases.history.change_feed import snapshot

        found = snapshot(engram.store)
        request.state.parts = found.parts
        headers = {AS_OF_HEADER: times.render(found.as_of), CURSOR_HEADER: found.cursor}
        headers["content-disposition"] = 'attachment; filename="lore.jsonl"'
        return headers, next(found.parts, None)

    headers, first = await use_store(request, begin)

    async def lines() -> AsyncIterator[bytes]:
        part = first
        while part is not None:
            yield "".join([_format_line(shown) for shown in part]).encode("utf-8", "replace")
            part = await use_store(request, lambda _: next(request.state.parts, None), index=False)

    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)


async def health(request: Request) -> Response:
    """Whether the server works; who sends the token also learns what it serves."""
    health: dict[str, Any] = {"status": "healthy", "version": __version__}
    if request.state.known:
        try:
            state, snapshot_at = await use_store(request, _state, index=False)
        except EngramError:
            return Json({**health, "status": "degraded"})
        index = state["index"]
        health |= {
            "lore_count": state["lore_count"],
            "embedding_model": state["embedding"]["model"],
            "strategy": index.get("strategy", "scan"),
            "status": "healthy" if index["ok"] else "degraded",
            "last_snapshot": times.render(snapshot_at) if snapshot_at else None,
        }
    return Json(health)


def _state(engram: Engram) -> tuple[dict[str, Any], datetime | None]:
    from engram.usecases.history.change_feed import last_snapshot

    return engram.status(thorough=False), last_snapshot(engram.store)


async def metrics(request: Request) -> Response:
    """Counters and latencies, as Prometheus reads them."""
    found = await use_store(request, lambda engram: engram.metrics(), index=False)
    return Response(prometheus(found), media_type=CONTENT_TYPE)


def _format_line(shown: Shown) -> str:
    return safe_json(json.dumps(lore_json(shown), ensure_ascii=False)) + "\n"


def _query_arguments(request: Request, operation: Operation) -> dict[str, Any]:
    """Return the values of a query string for the parameters of an operation. Raises ValidationError."""
    given = request.query_params
    values: dict[str, Any] = {}
    for parameter in operation.offered(HTTP):
        name = parameter.item or parameter.name
        if parameter.type == TEXTS:
            values[parameter.name] = given.getlist(name)
        elif parameter.type == WHOLE and given.get(name):
            values[parameter.name] = _parse_whole(given[name], name, parameter)
        else:
            values[parameter.name] = given.get(name) or parameter.default
    return values


def _parse_whole(text: str, name: str, parameter: Parameter) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValidationError(name, f"'{name}' is not a whole number.")
    value = int(text)
    if not (parameter.low or 0) <= value <= (parameter.high or value):
        raise ValidationError(name, f"The {name} must be from {parameter.low:g} to {parameter.high:,g}.")
    return value
