"""Arguments of tools: the types that several share, and those that the description of an operation says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import BeforeValidator, Field

from engram.operations.description import FLAG, NUMBER, TEXT, TEXTS, WHOLE, Parameter
from engram.operations.feedback import MOST_REFS

Call = Context[Any, Any]


def _as_list(value: object) -> object:
    """A list, also where a model sends the one word bare."""
    return [value] if isinstance(value, str) else value


_Many = tuple[str, ...]
Words = Annotated[_Many, BeforeValidator(_as_list)]
# The limits stand next to the type: behind the validator they would be said to be of a string.
Refs = Annotated[_Many, Field(max_length=MOST_REFS), BeforeValidator(_as_list)]
SomeRefs = Annotated[_Many, Field(min_length=1, max_length=MOST_REFS), BeforeValidator(_as_list)]
Share = Annotated[float, Field(ge=0, le=1)]

_TYPES: dict[str, Any] = {TEXT: str, TEXTS: _Many, NUMBER: float, WHOLE: int, FLAG: bool}


def signature(function: Callable[..., Any], parameters: tuple[Parameter, ...]) -> inspect.Signature:
    """Return the arguments of a tool: those of its function but the store, with `parameters` in place of its `**given`.

    One that stands in both is as `parameters` say.
    """
    own = inspect.signature(function, locals={"Engram": object}, eval_str=True)  # a name for types alone
    described = {one.name: argument(one) for one in parameters}
    kept = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in own.parameters.values()
        if one.name not in ("engram", *described) and one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    return own.replace(parameters=[*kept, *described.values()])


def argument(parameter: Parameter) -> inspect.Parameter:
    """Return a parameter as one of a function that the SDK makes a schema from."""
    default = inspect.Parameter.empty if parameter.required else parameter.default
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation(parameter)
    )


def annotation(parameter: Parameter) -> Any:
    """Return the type of an argument with its limits and its words for agents, as pydantic reads them."""
    kind: Any = Literal[parameter.choices] if parameter.choices else _TYPES[parameter.type]
    if parameter.type == TEXTS:
        kind = tuple[kind, ...] if parameter.choices else kind
        kind = Annotated[
            kind,
            Field(min_length=_whole(parameter.low), max_length=_whole(parameter.high)),
            BeforeValidator(_as_list),
        ]
    elif parameter.type == TEXT:
        kind = Annotated[kind, Field(min_length=_whole(parameter.low), max_length=_whole(parameter.high))]
    elif parameter.type != FLAG:
        kind = Annotated[kind, Field(ge=parameter.low, le=parameter.high)]
    if parameter.default is None and not parameter.required:
        kind = kind | None
    more: Any = {"enum": [*parameter.suggested]} if parameter.suggested else None
    return Annotated[kind, Field(description=parameter.agent_help or None, json_schema_extra=more)]


def _whole(limit: float | None) -> int | None:
    return None if limit is None else int(limit)
