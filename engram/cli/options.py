"""Options of the command line, from the description of an operation or of a single parameter."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING
from engram.operations.description import CLI, ENTITY, FILE, FLAG, NUMBER, REF, TAG, TEXTS, WHOLE

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from engram.operations.description import Operation, Parameter

_SHORT = {"--category": ["-c"], "--file": ["-f"], "--tag": ["-t"]}
_PLACEHOLDERS = {FILE: "PATH", REF: "REF", ENTITY: "NAME", NUMBER: "F", WHOLE: "N"}

_REPEATABLE = (" (repeatable)", " (repeatable, or with commas)")


def declare(parser: argparse.ArgumentParser, operation: Operation, **own: dict[str, Any]) -> None:
    """Declare what the command line offers of an operation; `own` are this command's settings, by parameter.

    A setting is one of `add_argument`, or `flags`: the option's spellings, none of them for a positional argument.
    """
    for parameter in operation.offered(CLI):
        add(parser, parameter, **own.get(parameter.name, {}))


def declare_all(
    parser: argparse.ArgumentParser, operations: tuple[Operation, ...], **own: dict[str, Any]
) -> None:
    """Declare what a command offers of several operations, each parameter once; its help names what it is for."""
    users: dict[str, list[str]] = {}
    parameters: dict[str, Parameter] = {}
    for operation in operations:
        for one in operation.offered(CLI):
            users.setdefault(one.name, []).append(operation.name)
            parameters.setdefault(one.name, one)
    for name, one in parameters.items():
        people = f"{', '.join(users[name])}: {one.people}"
        add(parser, one._replace(people=people), **own.get(name, {}))


def add(parser: argparse.ArgumentParser, parameter: Parameter, **own: Any) -> None:
    """Declare one parameter as an option, or as a positional argument where `flags` is empty."""
    flags = own.pop("flags", None)
    if flags is None:
        flag = "--" + (parameter.one or parameter.name).replace("_", "-")
        flags = [*_SHORT.get(flag, ()), flag]
    settings = {**_settings(parameter), **own}
    if parameter.type == TEXTS and "nargs" not in own and "help" not in own:
        settings["help"] += _REPEATABLE[parameter.values == TAG]
    if flags:
        settings["dest"] = parameter.name
    action = parser.add_argument(*(flags or [parameter.name]), **settings)
    action.described = parameter  # type: ignore[attr-defined] # for shell completion


def add_all(parser: argparse.ArgumentParser, parameters: tuple[Parameter, ...]) -> None:
    """Declare several parameters as options."""
    for parameter in parameters:
        add(parser, parameter)


def given(arguments: argparse.Namespace, operation: Operation) -> dict[str, Any]:
    """Return what was given for the parameters of an operation, by their names."""
    values = vars(arguments)
    found = {one.name: values[one.name] for one in operation.offered(CLI)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _settings(parameter: Parameter) -> dict[str, Any]:
    """Return the settings of `add_argument` that follow from a description."""
    kind, default = parameter.type, parameter.default
    if kind == FLAG:
        return {"action": "store_true", "default": default, "help": parameter.people}
    settings: dict[str, Any] = {"metavar": _placeholder(parameter), "help": parameter.people}
    if kind == TEXTS:
        split = {"action": "extend", "type": split_tags} if parameter.values == TAG else {"action": "append"}
        return {**settings, **split, "default": None if default is None else []}
    if kind in (NUMBER, WHOLE):
        settings["type"] = float if kind == NUMBER else int
        settings["help"] += "" if default is None else f" (default: {default:g})"
    return {**settings, "default": None if parameter.required else default}


def _placeholder(parameter: Parameter) -> str:
    """Return what stands for the value in a usage line."""
    found = _PLACEHOLDERS.get(parameter.values) or _PLACEHOLDERS.get(parameter.type)
    return found or (parameter.one or parameter.name).upper()


def split_tags(given: str) -> list[str]:
    """Return the tags of a text in which commas separate several."""
    return [tag for part in given.split(",") if (tag := part.strip())] or [given]
