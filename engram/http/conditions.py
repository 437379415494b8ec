"""Conditional and idempotent requests: If-Match, If-None-Match and Idempotency-Key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from engram.domain.errors import ValidationError
from engram.http.calls import Json, use_store
from engram.usecases.store.entry_writer import ANY

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown

KEY_HEADER, MATCH_HEADER, NONE_MATCH_HEADER = "idempotency-key", "if-match", "if-none-match"
REPEATED_HEADER = "idempotency-replayed"
_TAG = re.compile(r'"([^"]*)"')


class Reply(NamedTuple):
    """An answer that can be stored: its JSON, status and headers."""

    body: dict[str, Any]
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody changes it


async def write(
    request: Request, body: object, work: Callable[[Engram], Reply], *, index: bool = True
) -> Response:
    """Answer with the reply of `work`; a request with an idempotency key and the same `body` (JSON values) does it only once.

    Raises EngramError.
    """
    key = _idempotency_key(request)

    def work_once(engram: Engram) -> tuple[Reply, bool]:
        if not key:
            return work(engram), False
        from engram.usecases.recording.idempotent_writes import run_once

        headers = [request.headers.get(name, "") for name in (MATCH_HEADER, NONE_MATCH_HEADER)]
        content = [request.method, request.url.path, headers, body]
        found = run_once(engram.store, key, content, lambda _: work(engram))
        return Reply(*found.answer), found.repeated

    reply, repeated = await use_store(request, work_once, index=index)
    return Json(
        reply.body, reply.status, {**reply.headers, **({REPEATED_HEADER: "true"} if repeated else {})}
    )


def expected_digest(request: Request) -> str:
    """Return the digest in If-Match, "" without it. Raises ValidationError if it has several."""
    given = request.headers.get(MATCH_HEADER, "").strip()
    if given in ("", ANY):
        return given
    tag = _TAG.fullmatch(given)
    if tag is None and "," in given:
        raise ValidationError(
            MATCH_HEADER, "If-Match names several digests.", "Send the ETag of the entry that you read."
        )
    return tag[1] if tag else given  # a weak tag matches nothing


def must_be_new(request: Request) -> bool:
    """Return whether If-None-Match forbids to replace an entry. Raises ValidationError for anything but `*`."""
    given = request.headers.get(NONE_MATCH_HEADER, "").strip()
    if given not in ("", ANY):
        raise ValidationError(
            NONE_MATCH_HEADER, "If-None-Match can only be * here.", "If-Match takes a digest."
        )
    return given == ANY


def is_known(request: Request, digest: str) -> bool:
    """Return whether the caller has this version already, by If-None-Match."""
    given = request.headers.get(NONE_MATCH_HEADER, "").strip()
    return given == ANY or digest in _TAG.findall(given)


def entity_tag(digest: str) -> dict[str, str]:
    """Return the ETag header for a digest."""
    return {"etag": f'"{digest}"'} if digest else {}


def lore_json(shown: Shown) -> dict[str, Any]:
    """Return the JSON of an entry: all fields, its path, and its digest."""
    return {**shown.as_dict(), "digest": shown.digest}


def _idempotency_key(request: Request) -> str:
    """Return the idempotency key without quotes, "" if there is none. Raises ValidationError if it is empty."""
    given = request.headers.get(KEY_HEADER)
    if given is None:
        return ""
    tag = _TAG.fullmatch(given.strip())
    key = tag[1] if tag else given.strip()
    if not key:
        raise ValidationError(
            KEY_HEADER, "The Idempotency-Key is empty.", "A UUID made for each new request will do."
        )
    return key
