"""Descriptions of operations: a name and parameters, as plain values that every front end can read."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

TEXT, TEXTS, NUMBER, WHOLE, FLAG = "text", "texts", "number", "whole", "flag"

CLI, MCP, HTTP = "cli", "mcp", "http"
EVERYWHERE = (CLI, MCP, HTTP)

# Kinds of values that can be completed: `engram.operations.values` lists them.
CATEGORY, TYPE, TAG, REF, SCOPE, ENTITY, FILE = "category", "type", "tag", "ref", "scope", "entity", "file"
_KINDS = (CATEGORY, TYPE, TAG, REF, SCOPE, ENTITY, FILE)


class Parameter(NamedTuple):
    """A parameter of an operation, under its name in the use case.

    `help` is shown in help and reference pages, `agent_help` in schemas, where an agent pays for each word. `low` and
    `high` limit a number, or the length of a text or list. `choices` are the valid values; `suggested` are those that
    schemas list although a store may have more. `values` is the kind of values to complete from (default: the kind
    that has the parameter's or item's name). `item` names a single item of a list. `front_ends` are those that offer it.
    """

    name: str
    type: str = TEXT
    help: str = ""
    agent_help: str = ""
    default: object = None
    required: bool = False
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    values: str = ""
    item: str = ""
    front_ends: tuple[str, ...] = EVERYWHERE


class Operation(NamedTuple):
    """An operation: its name and its parameters."""

    name: str
    parameters: tuple[Parameter, ...]

    def offered(self, front_end: str, **changes: dict[str, Any]) -> tuple[Parameter, ...]:
        """Return the parameters that a front end offers; `changes` override their fields, by parameter.

        Raises KeyError for a change of a parameter that it does not offer.
        """
        parameters = {
            parameter.name: parameter for parameter in self.parameters if front_end in parameter.front_ends
        }
        for name, change in changes.items():
            parameters[name] = parameters[name]._replace(**change)
        return tuple(parameters.values())


def text(name: str, help_text: str = "", **more: Any) -> Parameter:
    """Describe a text, by default ""."""
    return _parameter(name, TEXT, help_text, "", more)


def texts(name: str, item: str, help_text: str = "", **more: Any) -> Parameter:
    """Describe a list of texts, by default empty; `item` names a single one."""
    return _parameter(name, TEXTS, help_text, (), {"item": item, **more})


def number(name: str, help_text: str = "", **more: Any) -> Parameter:
    """Describe a number, by default None."""
    return _parameter(name, NUMBER, help_text, None, more)


def share(name: str, help_text: str = "", **more: Any) -> Parameter:
    """Describe a number from 0 to 1, by default None."""
    return _parameter(name, NUMBER, help_text, None, {"low": 0, "high": 1, **more})


def whole(name: str, help_text: str = "", **more: Any) -> Parameter:
    """Describe a whole number, by default None."""
    return _parameter(name, WHOLE, help_text, None, more)


def flag(name: str, help_text: str = "", **more: Any) -> Parameter:
    """Describe a flag, by default False."""
    return _parameter(name, FLAG, help_text, False, more)


def _parameter(name: str, type_: str, help_text: str, default: object, more: dict[str, Any]) -> Parameter:
    kind = more.get("item", name)
    parameter = Parameter(name, type_, help_text, default=default, values=kind if kind in _KINDS else "")
    return parameter._replace(**more) if more else parameter
