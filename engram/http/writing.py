"""The resources that change lore: taking lore in, changing one, deleting one, feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.domain.lore_json import lore_as_dict
from engram.http.calls import Json, arguments_of, body_of, shaped, work
from engram.http.names import checked_name
from engram.http.problems import ProblemError, of_engram
from engram.http.shapes import Batch, Changes, FeedbackList
from engram.mcp.tools.core import TOOLS
from engram.usecases.ingest import ACCEPTED, MERGED, REJECTED, Ingested
from engram.usecases.record import Draft

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from engram.app import Engram
    from engram.usecases.listing import Shown

_OUTCOMES = ("helpful", "not_relevant", "incorrect")


async def take_in(request: Request) -> Response:
    """One lore, or several as `{"lore": […]}` or a list: each is accepted, merged or rejected on its own."""
    body = await body_of(request)
    several = isinstance(body, list) or (isinstance(body, dict) and "lore" in body)
    batch = shaped(Batch, {"lore": body} if isinstance(body, list) else body) if several else None
    items = batch.lore if batch else [body]
    read = [_read(item, f"lore[{number}]" if several else "", batch) for number, item in enumerate(items)]
    drafts = [one for one in read if isinstance(one, Draft)]
    done = iter(await work(request, lambda engram: engram.record_all(drafts), index=False))
    results = [next(done) if isinstance(one, Draft) else one for one in read]
    for one in results:
        problem = one if isinstance(one, ProblemError) else of_engram(one.error) if one.error else None
        if problem is not None and not several:
            raise problem
    outcomes = [_outcome(number, one) for number, one in enumerate(results)]
    said = {
        **{name: sum(one["outcome"] == name for one in outcomes) for name in (ACCEPTED, MERGED, REJECTED)},
        "errors": [_sentence(one) for one in outcomes if one["outcome"] == REJECTED],
        "lore": outcomes,
    }
    return Json(said, 201 if said[ACCEPTED] else 200)


def _read(item: Any, at: str, batch: Batch | None) -> Draft | ProblemError:
    """A lore that was sent as a draft; in a batch a wrong one stops no other."""
    try:
        found = arguments_of(TOOLS["recall_record"], item, at)
    except ProblemError as problem:
        return problem
    context = (found["context"],) if found["context"] else ()
    return Draft(
        found["content"], found["category"], context, found["confidence"], found["tags"], found["files"],
        agent=batch.source_id if batch else "", redact=found["redact"],
    )  # fmt: skip


def _outcome(number: int, one: Ingested | ProblemError) -> dict[str, Any]:
    if isinstance(one, ProblemError):
        return {"index": number, "outcome": REJECTED, "error": one.error.as_dict()}
    said: dict[str, Any] = {"index": number, "outcome": one.outcome, "id": one.id, "path": one.path}
    said["similar"] = [twin._asdict() for twin in one.similar]
    said |= {"pending": one.pending} if one.pending else {}
    return said | ({"error": one.error.as_dict()} if one.error else {})


def _sentence(outcome: dict[str, Any]) -> str:
    """`lore[1].content: …`."""
    error = outcome["error"]
    place = f"lore[{outcome['index']}]"
    field = str(error.get("field", ""))
    where = field if field.startswith(place) else f"{place}.{field}" if field else place
    return f"{where}: {error['message']}"


async def change(request: Request) -> Response:
    """Change the fields that are given."""
    name = checked_name(request)
    wanted = shaped(Changes, await body_of(request))

    def do(engram: Engram) -> Shown:
        from engram.usecases.edit import Edit

        there = engram.get(name)
        tags = there.lore.tags if wanted.tags is None else wanted.tags
        return engram.edit(
            there.lore.id,
            Edit(
                content=wanted.content, category=wanted.category, context=wanted.context, confidence=wanted.confidence,
                status=wanted.status, files=wanted.files, pinned=wanted.pinned,
                add_tags=tuple(tag for tag in tags if tag not in there.lore.tags),
                remove_tags=tuple(tag for tag in there.lore.tags if tag not in tags),
            ),
        )  # fmt: skip

    shown = await work(request, do)
    return Json({"lore": lore_as_dict(shown.lore, shown.path)})


async def delete(request: Request) -> Response:
    """Delete a lore; where there is git, its history keeps it."""
    name = checked_name(request)

    def do(engram: Engram) -> dict[str, str]:
        from engram.usecases.store import DEDICATED

        (gone,) = engram.forget(engram.get(name).lore.id)
        undo = "engram undo" if engram.store.places.placement == DEDICATED else ""
        return {"deleted": gone.lore.id, "undo": undo}

    return Json(await work(request, do))


async def feedback(request: Request) -> Response:
    """Judge lore: lists of refs or ids by outcome, or one by one."""
    body = await body_of(request)
    if isinstance(body, dict) and "feedback" in body:
        listed = shaped(FeedbackList, body)
        said = {name: tuple(one.id for one in listed.feedback if one.outcome == name) for name in _OUTCOMES}
    else:
        said = arguments_of(TOOLS["recall_feedback"], body)
    judged = await work(
        request,
        lambda engram: engram.feedback(
            helpful=said["helpful"], not_relevant=said["not_relevant"], incorrect=said["incorrect"]
        ),
    )
    updated = [one._asdict() for one in judged]
    return Json({"updated": updated, "updates": updated})
