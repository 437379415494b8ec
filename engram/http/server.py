"""The HTTP API as an app: routes from the table of resources, errors as problems, all behind the entrance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engram import serving
from engram.domain.errors import EngramError, ValidationError
from engram.domain.text.safe_text import safe_text
from engram.http import openapi, problems
from engram.http.routes import DOCUMENT, PUBLIC, RESOURCES, ROOT, Resource
from engram.mcp.logs import log_to_stderr
from engram.serving.request_checks import Entrance, RefusedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from engram.mcp.memory import Memory
    from engram.serving.limits import Limits

    Handler = Callable[[Request], Awaitable[Response]]

_AT_TOP = ("/health", "/metrics")  # also served at the top, where monitors look
_MESSAGES = {404: "There is no such address.", 405: "This address does not take that method."}


def build(memory: Memory, rules: TransportSecuritySettings, token: str, limits: Limits) -> ASGIApp:
    """Build the app on a memory, behind checks of the token, hosts, origins and limits."""
    by_path: dict[str, dict[str, Resource]] = {}
    for resource in RESOURCES:
        for path in (ROOT + resource.path, *([resource.path] if resource.path in _AT_TOP else [])):
            by_path.setdefault(path, {})[resource.method] = resource
    routes = [Route(path, _make_handler(found), methods=list(found)) for path, found in by_path.items()]
    app = Starlette(
        routes=[*routes, Route(DOCUMENT, _document), Route("/openapi.json", _document)],
        exception_handlers={HTTPException: _handle_unserved},
    )
    app.state.memory = memory
    return Entrance(app, rules, token, limits, _refusal, PUBLIC)


def serve_api(memory: Memory, address: serving.Address, limits: Limits) -> int:
    """Serve until the process is ended; returns the exit code. Raises EngramError if it cannot start."""
    serving.check_packages()
    log_to_stderr("serve")
    return serving.serve_app(
        lambda rules, token: build(memory, rules, token, limits),
        lambda: memory.engram.store.places.state,
        address, ROOT, limits, memory.leave,
    )  # fmt: skip


def _make_handler(resources: dict[str, Resource]) -> Handler:
    """Return the handler of a path, for resources by method. It answers errors as problems."""

    async def handle(request: Request) -> Response:
        try:
            resource = resources["GET" if request.method == "HEAD" else request.method]
            _check_parameters(request, resource)
            return await resource.handler(request)
        except problems.ProblemError as problem:
            return problems.to_response(problem, request.url.path)
        except EngramError as error:
            return problems.to_response(problems.from_engram_error(error), request.url.path)
        except Exception as error:  # noqa: BLE001 - a bug must not close a connection without an answer
            return _handle_unexpected(request, error)

    return handle


def _check_parameters(request: Request, resource: Resource) -> None:
    """Raise ProblemError for unknown parameters of the query string, such as a scope."""
    if resource.path in _AT_TOP:  # monitors add their own
        return
    known = [parameter["name"] for parameter in resource.parameters]
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        name = safe_text(unknown)[:100]
        message = f"The query string is not valid: there is no '{name}'."
        hint = f"It may have: {', '.join(known)}." if known else "This resource takes nothing there."
        raise problems.ProblemError(422, ValidationError(name, message, hint))


def _refusal(refused: RefusedError, path: str) -> Response:
    problem = problems.refusal(refused.status, refused.code, refused.message, refused.hint, refused.headers)
    return problems.to_response(problem, path)


async def _document(_request: Request) -> Response:
    return JSONResponse(openapi.build_document())


async def _handle_unserved(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = _MESSAGES.get(error.status_code, f"{error.detail}.")
    code = "not-found" if error.status_code == 404 else "not-allowed"
    problem = problems.refusal(error.status_code, code, message, f"See {DOCUMENT}.", error.headers)
    return problems.to_response(problem, request.url.path)


def _handle_unexpected(request: Request, error: Exception) -> Response:
    """Answer an error that should not happen, and log it to standard error."""
    sys.stderr.write(f"engram serve: {type(error).__name__}: {error}\n")
    problem = problems.refusal(
        500, "internal", f"Internal error: {type(error).__name__}.", "Please report it."
    )
    return problems.to_response(problem, request.url.path)
