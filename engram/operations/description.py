"""The form of a description: an operation and its parameters, as plain values that every front end can read."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

TEXT, TEXTS, NUMBER, WHOLE, FLAG = "text", "texts", "number", "whole", "flag"

# The front ends, as a parameter names those that offer it.
CLI, MCP, HTTP = "cli", "mcp", "http"
EVERYWHERE = (CLI, MCP, HTTP)

# What a parameter's values can be taken from: `engram.operations.values` lists them.
CATEGORY, TYPE, TAG, REF, SCOPE, ENTITY, FILE = "category", "type", "tag", "ref", "scope", "entity", "file"
_KINDS = (CATEGORY, TYPE, TAG, REF, SCOPE, ENTITY, FILE)


class Parameter(NamedTuple):
    """One parameter of an operation, under the name that the use case has for it.

    `people` are the words of help and reference pages, `agents` those of schemas, where an agent pays for each. `low`
    and `high` limit a number, or the length of a text or list. `choices` are the only values there are, `usual` those
    that schemas list although a store may have more; `values` says what to complete from, without a word the kind by
    whose name it or an item is called. `one` is what a single item of a list is called. `only` are the front ends that
    offer it.
    """

    name: str
    type: str = TEXT
    people: str = ""
    agents: str = ""
    default: object = None
    required: bool = False
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    values: str = ""
    one: str = ""
    only: tuple[str, ...] = EVERYWHERE


class Operation(NamedTuple):
    """What can be done: its name, and its parameters."""

    name: str
    parameters: tuple[Parameter, ...]

    def offered(self, front_end: str, **changes: dict[str, Any]) -> tuple[Parameter, ...]:
        """Return the parameters that a front end offers, with what is different there by parameter.

        Raises KeyError where it changes a parameter that it does not offer.
        """
        found = {one.name: one for one in self.parameters if front_end in one.only}
        for name, change in changes.items():
            found[name] = found[name]._replace(**change)
        return tuple(found.values())


def text(name: str, people: str = "", **more: Any) -> Parameter:
    """Describe a text, "" where none is given."""
    return _parameter(name, TEXT, people, "", more)


def texts(name: str, one: str, people: str = "", **more: Any) -> Parameter:
    """Describe a list of texts, empty where none is given; `one` is what an item is called."""
    return _parameter(name, TEXTS, people, (), {"one": one, **more})


def number(name: str, people: str = "", **more: Any) -> Parameter:
    """Describe a number, None where none is given."""
    return _parameter(name, NUMBER, people, None, more)


def share(name: str, people: str = "", **more: Any) -> Parameter:
    """Describe a number from 0 to 1, None where none is given."""
    return _parameter(name, NUMBER, people, None, {"low": 0, "high": 1, **more})


def whole(name: str, people: str = "", **more: Any) -> Parameter:
    """Describe a whole number, None where none is given."""
    return _parameter(name, WHOLE, people, None, more)


def flag(name: str, people: str = "", **more: Any) -> Parameter:
    """Describe a yes or no, by default no."""
    return _parameter(name, FLAG, people, False, more)


def _parameter(name: str, type_: str, people: str, default: object, more: dict[str, Any]) -> Parameter:
    kind = more.get("one", name)  # what is called by the name of a kind takes its values from it
    made = Parameter(name, type_, people, default=default, values=kind if kind in _KINDS else "")
    return made._replace(**more) if more else made
