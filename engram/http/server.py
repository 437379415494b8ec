"""The HTTP API as an app, and serving it: routes from the table, errors as problems, everything behind the entrance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engram import serving
from engram.adapters import heap_limits
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

_SHORT = ("/health", "/metrics")  # where monitors look by habit
_SENTENCES = {404: "There is no such address.", 405: "This address does not take that method."}


def build(memory: Memory, rules: TransportSecuritySettings, token: str, limits: Limits) -> ASGIApp:
    """The app on a memory, for callers with the token by way of these hosts."""
    by_path: dict[str, dict[str, Resource]] = {}
    for resource in RESOURCES:
        for path in (ROOT + resource.path, *([resource.path] if resource.path in _SHORT else [])):
            by_path.setdefault(path, {})[resource.method] = resource
    routes = [Route(path, _one_of(found), methods=list(found)) for path, found in by_path.items()]
    app = Starlette(
        routes=[*routes, Route(DOCUMENT, _document), Route("/openapi.json", _document)],
        exception_handlers={HTTPException: _handle_unserved},
    )
    app.state.memory = memory
    return Entrance(app, rules, token, limits, _refusal, PUBLIC)


def serve_api(memory: Memory, address: serving.Address, limits: Limits) -> int:
    """Serve until the process is ended; returns the exit code. Raises EngramError where it cannot begin."""
    serving.check_packages()
    log_to_stderr("serve")
    heap_limits.limit_arenas()
    rules = serving.transport_rules(address)
    token, place = serving.token_of(memory.engram.store.places.state)
    listening = serving.listen(address)
    serving.announce(address, listening, ROOT, place)
    return serving.serve(build(memory, rules, token, limits), listening, address, limits, memory.leave)


def _one_of(resources: dict[str, Resource]) -> Handler:
    """The handler of one path, for each method; errors are answered as problems."""

    async def handle(request: Request) -> Response:
        try:
            resource = resources["GET" if request.method == "HEAD" else request.method]
            _check_parameters(request, resource)
            return await resource.handler(request)
        except problems.ProblemError as problem:
            return problems.response(problem, request.url.path)
        except EngramError as error:
            return problems.response(problems.of_engram(error), request.url.path)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not end a connection without a word
            return _handle_unexpected(request, error)

    return handle


def _check_parameters(request: Request, resource: Resource) -> None:
    """Refuse what the query string asks and nothing would do: a scope, for instance. Raises ProblemError."""
    if resource.path in _SHORT:  # monitors add what they like
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
    return problems.response(problem, path)


async def _document(_request: Request) -> Response:
    return JSONResponse(openapi.document())


async def _handle_unserved(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = _SENTENCES.get(error.status_code, f"{error.detail}.")
    code = "not-found" if error.status_code == 404 else "not-allowed"
    problem = problems.refusal(error.status_code, code, sentence, f"See {DOCUMENT}.", error.headers)
    return problems.response(problem, request.url.path)


def _handle_unexpected(request: Request, error: Exception) -> Response:
    """An error that should not happen; the line on standard error says which."""
    sys.stderr.write(f"engram serve: {type(error).__name__}: {error}\n")
    problem = problems.refusal(
        500, "internal", f"An error that should not happen: {type(error).__name__}.", "Please report it."
    )
    return problems.response(problem, request.url.path)
