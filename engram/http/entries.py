"""Resources that change an entry (put, patch, delete), and that consolidate and sync a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyio import to_thread

from engram.domain.errors import UsageError
from engram.http.calls import MERGE_PATCH, Json, name_in_path, parse_body, read_body, use_store
from engram.http.conditions import Reply, entity_tag, expected_digest, lore_json, must_be_new, write
from engram.http.shapes import Changes, RelationTo, Syncing, Tidying, Whole

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from engram.app import Engram
    from engram.usecases.sync.sync import Synced


async def put(request: Request) -> Response:
    """Create the entry with this id (201), or replace it by what is sent."""
    name = str(request.path_params["id"])
    wanted = parse_body(Whole, await read_body(request))
    digest, new = expected_digest(request), must_be_new(request)

    def work(engram: Engram) -> Reply:
        from engram.usecases.recording.patch import FIELDS

        given = dict(wanted)
        given["relations"] = _as_pairs(given["relations"])
        if given["expires_at"] is not None:
            given["expires_at"] = FIELDS["expires_at"]("expires_at", given["expires_at"])
        done = engram.put(name, **given, digest=digest, new=new)
        body = {"lore": lore_json(done.shown), "created": done.created, "pending": done.pending}
        return Reply(body, 201 if done.created else 200, entity_tag(done.shown.digest))

    return await write(request, wanted.model_dump(), work)


async def change(request: Request) -> Response:
    """Change the fields that are given (a JSON merge patch: null takes a value away, lists are replaced)."""
    name = name_in_path(request)
    wanted = parse_body(Changes, await read_body(request, MERGE_PATCH))
    changes = {field: getattr(wanted, field) for field in sorted(wanted.model_fields_set)}
    if changes.get("relations") is not None:
        changes["relations"] = _as_pairs(changes["relations"])
    digest = expected_digest(request)

    def work(engram: Engram) -> Reply:
        shown = engram.patch(name, changes, digest=digest)
        body = {"lore": lore_json(shown), "pending": shown.pending}
        return Reply(body, headers=entity_tag(shown.digest))

    return await write(request, wanted.model_dump(exclude_unset=True), work)


def _as_pairs(relations: list[RelationTo]) -> list[tuple[str, str]]:
    return [(relation.kind, relation.id) for relation in relations]


async def delete(request: Request) -> Response:
    """Delete an entry; where there is git, its history keeps it."""
    name = name_in_path(request)
    digest = expected_digest(request)

    def work(engram: Engram) -> Reply:
        (deleted,) = engram.forget(name, digest=digest)
        undo = "engram undo" if engram.store.places.owns_branch else ""
        return Reply({"deleted": deleted.lore.id, "undo": undo})

    return await write(request, None, work)


async def consolidate(request: Request) -> Response:
    """Plan what would tidy the store up, rehearsed on past queries; with `apply` do it, as one commit."""
    wanted = parse_body(Tidying, await read_body(request) if await request.body() else {})

    def work(engram: Engram) -> Reply:
        from engram.usecases.consolidation.plan_json import applied_json, plan_json

        plan = engram.consolidate(kinds=wanted.only, skip=wanted.skip, confirm=wanted.confirm, to=wanted.to)
        done = engram.apply(plan) if wanted.apply and plan.selected else None
        return Reply({"plan": plan_json(engram.store, plan), "applied": applied_json(done)})

    return await write(request, wanted.model_dump(), work)


async def sync(request: Request) -> Response:
    """Commit what waits, fetch, merge by field, push; meanwhile other requests are answered."""
    wanted = parse_body(Syncing, await read_body(request) if await request.body() else {})
    path = await use_store(request, lambda engram: engram.path, index=False)
    done = await to_thread.run_sync(_sync, path, dict(wanted))
    return Json({**done.as_dict(), "ok": not done.errors})


def _sync(path: str, wanted: dict[str, Any]) -> Synced:
    """Sync in a store opened for it, since the server's would be locked while it waits for the network."""
    from engram.entry_point import open_engram

    with open_engram(path, agent="http", session="http-sync", background=False) as engram:
        known = [remote.name for remote in engram.remotes()]
        if wanted["remote"] and wanted["remote"] not in known:
            raise UsageError("There is no remote of that name.", f"Remotes: {', '.join(known) or 'none'}.")
        return engram.sync(**wanted)
