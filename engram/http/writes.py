"""Resources that take lore in, and judgements of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.adapters.files.durable import atomic
from engram.domain.entry import times
from engram.domain.errors import ValidationError
from engram.http.calls import arguments_of, body_of, note_sender, parse_body
from engram.http.conditions import Reply, entity_tag, write
from engram.http.problems import ProblemError
from engram.http.shapes import Batch, FeedbackList, Sent
from engram.mcp.tools.core import TOOLS
from engram.usecases.opening.scopes import reach
from engram.usecases.recording.ingest import ACCEPTED, MERGED, REJECTED, Ingested
from engram.usecases.recording.record import Draft
from engram.usecases.store.judgements import plain_name

if TYPE_CHECKING:
    from datetime import datetime

    from starlette.requests import Request
    from starlette.responses import Response

    from engram.app import Engram

_OUTCOMES = ("helpful", "not_relevant", "incorrect")


async def take_in(request: Request) -> Response:
    """One entry, or several as `{"lore": […]}` or a list: each is accepted, merged or rejected on its own."""
    body = await body_of(request)
    several = isinstance(body, list) or (isinstance(body, dict) and "lore" in body)
    batch = parse_body(Batch, {"lore": body} if isinstance(body, list) else body) if several else None
    items, source_id = (batch.lore, batch.source_id) if batch else ([body], "")
    note_sender(request, source_id)
    read = [_read(item, f"lore[{number}]" if several else "", source_id) for number, item in enumerate(items)]
    drafts = [one for one in read if isinstance(one, Draft)]
    for one in read:
        if isinstance(one, ProblemError) and not several:
            raise one

    def do(engram: Engram) -> Reply:
        done = iter(engram.record_all(drafts))
        results = [next(done) if isinstance(one, Draft) else one for one in read]
        for one in results:
            if isinstance(one, Ingested) and one.error and not several:
                raise one.error
        outcomes = [_outcome(engram, number, one) for number, one in enumerate(results)]
        only = (
            {}
            if several
            else {"location": f"{request.url.path}/{outcomes[0]['id']}", **entity_tag(outcomes[0]["digest"])}
        )
        sums = _sums(outcomes)
        return Reply(sums, 201 if only and sums[ACCEPTED] else 200, only)

    return await write(request, body, do, index=False)


def _sums(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **{name: sum(one["outcome"] == name for one in outcomes) for name in (ACCEPTED, MERGED, REJECTED)},
        "errors": [_sentence(one) for one in outcomes if one["outcome"] == REJECTED],
        "lore": outcomes,
    }


def _read(item: Any, at: str, source_id: str) -> Draft | ProblemError:
    """An entry that was sent as a draft; in a batch a wrong one stops no other."""
    try:
        own = item if isinstance(item, dict) else {}
        sent = parse_body(
            Sent, {name: own[name] for name in Sent.model_fields if own.get(name) is not None}, at
        )
        rest = {
            name: value for name, value in own.items() if name not in Sent.model_fields and value is not None
        }
        found = arguments_of(TOOLS["recall_record"], rest if own else item, at)
        client = plain_name(sent.source_id or source_id)
        context = (found["context"],) if found["context"] else ()
        return Draft(
            **{**found, "context": context},
            id=sent.id.upper(),
            created_at=_moment(sent.created_at, at),
            client=client,
        )
    except ProblemError as problem:
        return problem


def _moment(text: str, at: str) -> datetime | None:
    """Raises ProblemError for what is no time."""
    try:
        return times.parse(text) if text else None
    except (ValueError, OverflowError):
        field = f"{at}.created_at" if at else "created_at"
        message = "created_at is not an RFC 3339 time."
        raise ProblemError(
            422, ValidationError(field, message, "For example 2026-01-28T10:00:00Z.")
        ) from None


def _outcome(engram: Engram, number: int, one: Ingested | ProblemError) -> dict[str, Any]:
    if isinstance(one, ProblemError):
        return {"index": number, "outcome": REJECTED, "error": one.error.as_dict()}
    outcome: dict[str, Any] = {"index": number, "outcome": one.outcome, "id": one.id, "path": one.path}
    where = reach(engram.store, one.scope)
    outcome["digest"] = atomic.current_digest(where.files.absolute(one.path)) or "" if one.path else ""
    outcome["scope"] = one.scope
    outcome["similar"] = [twin._asdict() for twin in one.similar]
    outcome |= {"pending": one.pending} if one.pending else {}
    return outcome | ({"error": one.error.as_dict()} if one.error else {})


def _sentence(outcome: dict[str, Any]) -> str:
    """`lore[1].content: …`."""
    error = outcome["error"]
    place = f"lore[{outcome['index']}]"
    field = str(error.get("field", ""))
    where = field if field.startswith(place) else f"{place}.{field}" if field else place
    return f"{where}: {error['message']}"


async def feedback(request: Request) -> Response:
    """Judge lore: lists of refs or ids by outcome, or one by one."""
    body = await body_of(request)
    if isinstance(body, dict) and "feedback" in body:
        listed = parse_body(FeedbackList, body)
        note_sender(request, listed.source_id)
        judgements: dict[str, Any] = {
            name: tuple(one.id for one in listed.feedback if one.outcome == name) for name in _OUTCOMES
        }
    else:
        judgements = arguments_of(TOOLS["recall_feedback"], body)

    def do(engram: Engram) -> Reply:
        updated = [one._asdict() for one in engram.feedback(**judgements)]
        return Reply({"updated": updated, "updates": updated})

    return await write(request, body, do)
