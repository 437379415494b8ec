"""Errors of the HTTP API: the status of an error, and its answer by RFC 9457."""

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
_LONGEST = 1200  # characters
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
    """An error as an answer: its status, the error, the wrong fields of the request, and headers."""

    def __init__(
        self,
        status: int,
        error: errors.EngramError,
        *,
        fields: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`fields` are {field, message}."""
        super().__init__(error.message)
        self.status, self.error = status, error
        self.fields, self.headers = fields, dict(headers or {})


def refusal(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> ProblemError:
    """Return the problem of a refused request."""
    return ProblemError(status, errors.EngramError(message, hint, code), headers=headers)


def from_engram_error(error: errors.EngramError) -> ProblemError:
    """Return the problem for an error of Engram. Errors that the caller cannot avoid (a full disk) are 503."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
    if isinstance(error, errors.RemoteError) and error.kind == "no-remote":
        status = 409  # no remote was contacted
    headers = {"retry-after": "5"} if status == 503 else {}
    if isinstance(error, errors.StaleError) and error.current:
        headers["etag"] = f'"{error.current}"'
    return ProblemError(status, error, headers=headers)


def from_validation_error(error: ValidationError, at: str = "") -> ProblemError:
    """Return the problem for an invalid request, with the wrong fields but not their values, which may be long.

    `at` is the path of the validated part in the request.
    """
    details = error.errors(include_url=False, include_input=False, include_context=False)[:_MOST_ERRORS]
    fields = [{"field": _field_path(at, detail["loc"]), "message": detail["msg"][:200]} for detail in details]
    reasons = "; ".join(f"{field['field']}: {field['message']}" for field in fields[:3])
    first = errors.ValidationError(fields[0]["field"], f"The request is invalid: {reasons}.")
    return ProblemError(422, first, fields=fields)


def to_response(problem: ProblemError, path: str) -> Response:
    """Return the answer for a problem of a request to `path`."""
    error = problem.error
    problem_json = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": safe_text(error.message)[:_LONGEST],
        "instance": safe_text(path)[:_LONGEST],
        "error": error.as_dict(),
        "errors": list(problem.fields),
    }
    body = safe_json(json.dumps(problem_json, ensure_ascii=False)).encode("utf-8", "replace")
    return Response(body, problem.status, problem.headers, MEDIA_TYPE)


def _field_path(at: str, location: tuple[int | str, ...]) -> str:
    """Return the path of a field, such as `lore[1].content`."""
    path = at
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return safe_text(path)[:200] or "body"
