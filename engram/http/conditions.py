"""What the headers of a request ask besides: that an entry still be what was read, and that the request be done once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from engram.domain.errors import ValidationError
from engram.http.calls import Json, work
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
    """An answer that can be kept: its JSON, status and headers."""

    body: dict[str, Any]
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody changes it


async def write(
    request: Request, asked: object, do: Callable[[Engram], Reply], *, index: bool = True
) -> Response:
    """The answer of `do` to `asked` (JSON values), done once where the request has a key. Raises EngramError."""
    key = _key(request)

    def keyed(engram: Engram) -> tuple[Reply, bool]:
        if not key:
            return do(engram), False
        from engram.usecases.recording.idempotent_writes import once

        headers = [request.headers.get(name, "") for name in (MATCH_HEADER, NONE_MATCH_HEADER)]
        whole = [request.method, request.url.path, headers, asked]
        found = once(engram.store, key, whole, lambda _: do(engram))
        return Reply(*found.answer), found.repeated

    reply, repeated = await work(request, keyed, index=index)
    return Json(
        reply.body, reply.status, {**reply.headers, **({REPEATED_HEADER: "true"} if repeated else {})}
    )


def expected_digest(request: Request) -> str:
    """The digest that If-Match asks for; "" without it. Raises ValidationError where it names several."""
    given = request.headers.get(MATCH_HEADER, "").strip()
    if given in ("", ANY):
        return given
    tag = _TAG.fullmatch(given)
    if tag is None and "," in given:
        raise ValidationError(
            MATCH_HEADER, "If-Match names several digests.", "Send the ETag of the entry that you read."
        )
    return tag[1] if tag else given  # a weak one fits nothing


def must_be_new(request: Request) -> bool:
    """Whether If-None-Match asks that there be none yet. Raises ValidationError for anything but `*`."""
    given = request.headers.get(NONE_MATCH_HEADER, "").strip()
    if given not in ("", ANY):
        raise ValidationError(
            NONE_MATCH_HEADER, "If-None-Match can only be * here.", "If-Match takes a digest."
        )
    return given == ANY


def is_known(request: Request, digest: str) -> bool:
    """Whether the caller has what it asks for already, by If-None-Match."""
    given = request.headers.get(NONE_MATCH_HEADER, "").strip()
    return given == ANY or digest in _TAG.findall(given)


def entity_tag(digest: str) -> dict[str, str]:
    """The ETag header."""
    return {"etag": f'"{digest}"'} if digest else {}


def lore_json(shown: Shown) -> dict[str, Any]:
    """An entry as it is answered: all fields, its path, and the digest to change it by."""
    return {**shown.as_dict(), "digest": shown.digest}


def _key(request: Request) -> str:
    """The key of the request, "" for none; the quotes of a structured field do not count."""
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
