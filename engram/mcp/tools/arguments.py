"""Arguments of tools: shared types, and those made from the description of an operation."""

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
    """Wrap a single text in a list, since models often send one word without it."""
    return [value] if isinstance(value, str) else value


_Texts = tuple[str, ...]
Words = Annotated[_Texts, BeforeValidator(_as_list)]
# The limits come before the validator: after it, pydantic would report them as limits of a string.
Refs = Annotated[_Texts, Field(max_length=MOST_REFS), BeforeValidator(_as_list)]
SomeRefs = Annotated[_Texts, Field(min_length=1, max_length=MOST_REFS), BeforeValidator(_as_list)]
Share = Annotated[float, Field(ge=0, le=1)]

_TYPES: dict[str, Any] = {TEXT: str, TEXTS: _Texts, NUMBER: float, WHOLE: int, FLAG: bool}


def make_signature(function: Callable[..., Any], parameters: tuple[Parameter, ...]) -> inspect.Signature:
    """Return the signature of a tool: that of its function without the store, with `parameters` instead of `**given`.

    A parameter of both is as in `parameters`.
    """
    own = inspect.signature(function, locals={"Engram": object}, eval_str=True)  # a name for types alone
    described = {parameter.name: make_argument(parameter) for parameter in parameters}
    kept = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own.parameters.values()
        if parameter.name not in ("engram", *described)
        and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    return own.replace(parameters=[*kept, *described.values()])


def make_argument(parameter: Parameter) -> inspect.Parameter:
    """Return a parameter as that of a function, from which the SDK makes a schema."""
    default = inspect.Parameter.empty if parameter.required else parameter.default
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=make_annotation(parameter)
    )


def make_annotation(parameter: Parameter) -> Any:
    """Return the type of an argument with its limits and its description for agents, for pydantic."""
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
