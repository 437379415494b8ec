"""Resources that record and judge lore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.adapters.files.durable import atomic
from engram.domain.entry import times
from engram.domain.errors import ValidationError
from engram.http.calls import note_sender, parse_arguments, parse_body, read_body
from engram.http.conditions import Reply, entity_tag, write
from engram.http.problems import ProblemError
from engram.http.shapes import Batch, FeedbackList, Sent
from engram.mcp.tools.core import TOOLS
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.recording.ingest import ACCEPTED, MERGED, REJECTED, Ingested
from engram.usecases.recording.record import Draft
from engram.usecases.store.judgements import plain_name

if TYPE_CHECKING:
    from datetime import datetime

    from starlette.requests import Request
    from starlette.responses import Response

    from engram.app import Engram

_OUTCOMES = ("helpful", "not_relevant", "incorrect")


async def record(request: Request) -> Response:
    """One entry, or several as `{"lore": […]}` or a list: each is accepted, merged or rejected on its own."""
    body = await read_body(request)
    several = isinstance(body, list) or (isinstance(body, dict) and "lore" in body)
    batch = parse_body(Batch, {"lore": body} if isinstance(body, list) else body) if several else None
    items, source_id = (batch.lore, batch.source_id) if batch else ([body], "")
    note_sender(request, source_id)
    parsed = [
        _parse_entry(item, f"lore[{at}]" if several else "", source_id) for at, item in enumerate(items)
    ]
    drafts = [entry for entry in parsed if isinstance(entry, Draft)]
    if not several and isinstance(parsed[0], ProblemError):
        raise parsed[0]

    def work(engram: Engram) -> Reply:
        done = iter(engram.record_all(drafts))
        results = [next(done) if isinstance(entry, Draft) else entry for entry in parsed]
        if not several and isinstance(results[0], Ingested) and results[0].error:
            raise results[0].error
        outcomes = [_outcome(engram, number, result) for number, result in enumerate(results)]
        summary = _summarize(outcomes)
        if several:
            return Reply(summary)
        headers = {"location": f"{request.url.path}/{outcomes[0]['id']}", **entity_tag(outcomes[0]["digest"])}
        return Reply(summary, 201 if summary[ACCEPTED] else 200, headers)

    return await write(request, body, work, index=False)


def _summarize(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **{name: sum(item["outcome"] == name for item in outcomes) for name in (ACCEPTED, MERGED, REJECTED)},
        "errors": [_describe_error(item) for item in outcomes if item["outcome"] == REJECTED],
        "lore": outcomes,
    }


def _parse_entry(item: Any, at: str, source_id: str) -> Draft | ProblemError:
    """Return a sent entry as a draft, or what is wrong with it: a wrong one of a batch does not stop the others."""
    try:
        own, fields = {}, item
        if isinstance(item, dict):
            fields = {name: value for name, value in item.items() if value is not None}
            own = {name: fields.pop(name) for name in Sent.model_fields if name in fields}
        sent = parse_body(Sent, own, at)
        found = parse_arguments(TOOLS["recall_record"], fields, at)
        return Draft(
            **{**found, "context": (found["context"],) if found["context"] else ()},
            id=sent.id.upper(),
            created_at=_parse_time(sent.created_at, at),
            client=plain_name(sent.source_id or source_id),
        )
    except ProblemError as problem:
        return problem


def _parse_time(text: str, at: str) -> datetime | None:
    """Parse `created_at`; None for "". Raises ProblemError."""
    try:
        return times.parse(text) if text else None
    except (ValueError, OverflowError):
        field = f"{at}.created_at" if at else "created_at"
        message = "created_at is not an RFC 3339 time."
        raise ProblemError(
            422, ValidationError(field, message, "For example 2026-01-28T10:00:00Z.")
        ) from None


def _outcome(engram: Engram, number: int, result: Ingested | ProblemError) -> dict[str, Any]:
    if isinstance(result, ProblemError):
        return {"index": number, "outcome": REJECTED, "error": result.error.as_dict()}
    files = open_scope_of(engram.store, result.scope).files
    return {
        "index": number,
        "outcome": result.outcome,
        "id": result.id,
        "path": result.path,
        "digest": atomic.current_digest(files.absolute(result.path)) or "" if result.path else "",
        "scope": result.scope,
        "similar": [twin._asdict() for twin in result.similar],
        **({"pending": result.pending} if result.pending else {}),
        **({"error": result.error.as_dict()} if result.error else {}),
    }


def _describe_error(outcome: dict[str, Any]) -> str:
    """Return the error of a rejected entry, such as `lore[1].content: …`."""
    error = outcome["error"]
    place = f"lore[{outcome['index']}]"
    field = str(error.get("field", ""))
    where = field if field.startswith(place) else f"{place}.{field}" if field else place
    return f"{where}: {error['message']}"


async def feedback(request: Request) -> Response:
    """Judge lore: lists of refs or ids by outcome, or one by one."""
    body = await read_body(request)
    if isinstance(body, dict) and "feedback" in body:
        listed = parse_body(FeedbackList, body)
        note_sender(request, listed.source_id)
        judgements: dict[str, Any] = {
            name: tuple(judgement.id for judgement in listed.feedback if judgement.outcome == name)
            for name in _OUTCOMES
        }
    else:
        judgements = parse_arguments(TOOLS["recall_feedback"], body)

    def work(engram: Engram) -> Reply:
        updated = [judgement._asdict() for judgement in engram.feedback(**judgements)]
        return Reply({"updated": updated, "updates": updated})

    return await write(request, body, work)
