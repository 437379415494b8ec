"""Errors of the HTTP API: which status an error of Engram has, and how it is reported."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response

from engram.domain import errors
from engram.domain.text.safe_text import safe_json, safe_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import ValidationError

MEDIA_TYPE = "application/problem+json"
_MOST_ERRORS = 20
_LONGEST = 1200
_STATUS: tuple[tuple[type[errors.EngramError], int], ...] = (
    (errors.ValidationError, 422),
    (errors.SecretFoundError, 422),
    (errors.UsageError, 422),
    (errors.CursorGoneError, 410),
    (errors.NotFoundError, 404),
    (errors.AmbiguousError, 409),
    (errors.StaleError, 412),
    (errors.ConflictError, 409),
    (errors.SyncBlockedError, 409),
    (errors.RemoteError, 502),
    (errors.NotAllowedError, 403),
)


class ProblemError(Exception):
    """An answer that is an error: its status, what happened, what to do, and where in the request."""

    def __init__(
        self,
        status: int,
        error: errors.EngramError,
        *,
        where: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`where` are {field, message}."""
        super().__init__(error.message)
        self.status, self.error = status, error
        self.where, self.headers = where, dict(headers or {})


def refusal(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> ProblemError:
    """A request that is not let through."""
    return ProblemError(status, errors.EngramError(message, hint, code), headers=headers)


def of_engram(error: errors.EngramError) -> ProblemError:
    """The answer to an error of Engram; what the caller cannot help (a full disk) is 503."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
    if isinstance(error, errors.RemoteError) and error.kind == "no-remote":
        status = 409  # nobody was asked
    headers = {"retry-after": "5"} if status == 503 else {}
    if isinstance(error, errors.StaleError) and error.current:
        headers["etag"] = f'"{error.current}"'
    return ProblemError(status, error, headers=headers)


def of_shape(error: ValidationError, at: str = "") -> ProblemError:
    """The answer to a request whose shape is wrong, with each place; never with the values, which may be long."""
    where = [
        {"field": _place(at, found["loc"]), "message": found["msg"][:200]}
        for found in error.errors(include_url=False, include_input=False, include_context=False)[
            :_MOST_ERRORS
        ]
    ]
    reasons = "; ".join(f"{one['field']}: {one['message']}" for one in where[:3])
    return ProblemError(
        422,
        errors.ValidationError(where[0]["field"], f"The request is invalid: {reasons}."),
        where=where,
    )


def response(problem: ProblemError, path: str) -> Response:
    """The problem as an answer."""
    error = problem.error
    problem_json = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": safe_text(error.message)[:_LONGEST],
        "instance": safe_text(path)[:_LONGEST],
        "error": error.as_dict(),
        "errors": list(problem.where),
    }
    body = safe_json(json.dumps(problem_json, ensure_ascii=False)).encode("utf-8", "replace")
    return Response(body, problem.status, problem.headers, MEDIA_TYPE)


def _place(at: str, location: tuple[int | str, ...]) -> str:
    """`lore[1].content`."""
    path = at
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return safe_text(path)[:200] or "body"
