"""Argument parsers: only that of the called command, for quick start-up, or all (help, documentation, completion)."""

from __future__ import annotations

import argparse
import os
import sys

from engram.cli.registry import COMMANDS, Command
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.operations.description import (
    CLI,
    ENTITY,
    FILE,
    FLAG,
    NUMBER,
    REF,
    TAG,
    TEXTS,
    WHOLE,
    Operation,
    Parameter,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn


# argparse looks up translations of its messages, which costs a millisecond of every start; ours are in English anyway.
argparse._ = lambda text: text  # type: ignore[attr-defined]
_VALUE_OPTIONS = ("--store", "--scope")
_FLAGS = ("--json", "--no-input", "--yes")


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. argparse would import shutil for that, which takes 4 ms."""

    def __init__(self, prog: str, width: int | None = None) -> None:
        super().__init__(prog, width=width or terminal_width())


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError. Options cannot be abbreviated, so that a new one breaks no script."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of exiting, so that `--json` can report it."""
        hint = f"See: {self.prog} --help"
        if message.startswith("unrecognized arguments: -"):
            near = " or ".join(f"--{name}" for name in self._nearest_options(message.split()[2]))
            otherwise = f"{hint}. A text that begins with a dash goes behind --"
            hint = f"Did you mean {near}? {hint}" if near else otherwise
        elif message.startswith("unrecognized arguments: "):
            takes_text = bool(self._get_positional_actions())
            hint += ". A text of several words goes in quotes" if takes_text else ". It takes options alone"
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", hint)

    def _nearest_options(self, wrong: str) -> list[str]:
        """Return similar options, without dashes: add-tag and remove-tag for --tag."""
        import difflib

        word = wrong.split("=", maxsplit=1)[0].lstrip("-")
        known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        longer = [name for name in known if len(word) > 1 and name.endswith(f"-{word}")]
        return longer or difflib.get_close_matches(word, known, 1, 0.75)


def command_parser(command: Command, **options: Any) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    parser = Parser(prog=f"engram {command.name}", **_describe(command), **options)
    _configure(parser, command)
    return parser


def full_parser() -> argparse.ArgumentParser:
    """Return a parser of all commands, for shell completion. It imports every command."""
    parser = Parser(prog="engram", formatter_class=Help)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=Parser)
    for command in COMMANDS:
        subparser = commands.add_parser(
            command.name, aliases=command.aliases, help=command.summary, **_describe(command)
        )
        _configure(subparser, command)
    return parser


def put_command_first(arguments: Sequence[str]) -> list[str]:
    """Move shared options before the command behind it: `--json query x` becomes `query --json x`."""
    moved: list[str] = []
    rest = list(arguments)
    while rest and is_shared_option(rest[0]):
        takes_value = rest[0] in _VALUE_OPTIONS and len(rest) > 1
        moved += [rest.pop(0) for _ in range(1 + takes_value)]
    return rest[:1] + moved + rest[1:]


def is_shared_option(word: str) -> bool:
    """Return whether a word is an option of every command."""
    return word in _FLAGS or word.split("=", maxsplit=1)[0] in _VALUE_OPTIONS


def module_of(command: Command) -> Any:
    """Import and return the module of a command."""
    name = f"engram.cli.commands.{command.module}"
    __import__(name)  # avoids importing importlib
    return sys.modules[name]


def terminal_width() -> int:
    """Return the number of columns for help texts."""
    try:
        return int(os.environ.get("COLUMNS", "")) - 2
    except ValueError:
        try:
            return os.get_terminal_size(1).columns - 2
        except OSError:
            return 78


def _describe(command: Command) -> dict[str, Any]:
    module = module_of(command)
    return {
        "description": module.DESCRIPTION,
        "epilog": "examples:\n" + "\n".join(f"  {line}" for line in module.EXAMPLES),
        "formatter_class": Help,
    }


def _configure(parser: argparse.ArgumentParser, command: Command) -> None:
    for argument in module_of(command).ARGUMENTS:
        if isinstance(argument, list):  # mutually exclusive
            group = parser.add_mutually_exclusive_group()
            for choice in argument:
                choice.add_to(group)
        else:
            argument.add_to(parser)
    shared = parser.add_argument_group("options of every command")
    for argument in _SHARED:
        argument.add_to(shared)


# Arguments of a command: declared in its module, or derived from an operation in `engram.operations`.

_SHORT = {"--category": ["-c"], "--file": ["-f"], "--tag": ["-t"]}
_PLACEHOLDERS = {FILE: "PATH", REF: "REF", ENTITY: "NAME", NUMBER: "F", WHOLE: "N"}
_REPEATABLE = (" (repeatable)", " (repeatable, or with commas)")


class Argument(NamedTuple):
    """The arguments of `add_argument`, and the parameter of an operation that it is derived from, if any."""

    names: tuple[str, ...]
    settings: dict[str, Any]
    parameter: Parameter | None = None

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add it to a parser or group."""
        action = parser.add_argument(*self.names, **self.settings)
        action.parameter = self.parameter  # type: ignore[attr-defined] # for shell completion


def argument(names: str, metavar: str | None = None, help: str = "", **settings: Any) -> Argument:  # noqa: A002 - as argparse has it
    """Declare an argument. `names` are separated by spaces; `settings` are passed to `add_argument`."""
    return Argument(tuple(names.split()), {"metavar": metavar, "help": help, **settings})


def switch(names: str, help: str, **settings: Any) -> Argument:  # noqa: A002 - as argparse has it
    """Declare an option without a value."""
    return Argument(tuple(names.split()), {"action": "store_true", "help": help, **settings})


def repeatable(names: str, metavar: str, help: str, **settings: Any) -> Argument:  # noqa: A002 - as argparse has it
    """Declare an option that can be repeated; its value is a list."""
    return argument(names, metavar, help + _REPEATABLE[0], action="append", default=[], **settings)


_SHARED = (
    switch("--json", "print exactly one JSON document"),
    argument("--store", "PATH", "the store at or above PATH (default: at or above this folder)"),
    argument(
        "--scope",
        "NAME",
        "session, project, user or a team's store (default: the nearest; `query`: all, repeatable)",
        action="append",
        default=[],
    ),
    switch("--yes", "answer yes to every question"),
    switch("--no-input", "never ask; fail instead"),
)


def declare(operation: Operation, **own: dict[str, Any]) -> list[Argument]:
    """Declare the parameters of an operation that the command line offers; `own` overrides settings, by parameter.

    A setting is one of `add_argument`, or `flags`: the option's spellings, empty for a positional argument.
    """
    return [
        declare_parameter(parameter, **own.get(parameter.name, {})) for parameter in operation.offered(CLI)
    ]


def declare_all(operations: tuple[Operation, ...], **own: dict[str, Any]) -> list[Argument]:
    """Declare the parameters of several operations, each once; its help names the operations that have it."""
    users: dict[str, list[str]] = {}
    parameters: dict[str, Parameter] = {}
    for operation in operations:
        for parameter in operation.offered(CLI):
            users.setdefault(parameter.name, []).append(operation.name)
            parameters.setdefault(parameter.name, parameter)
    return [
        declare_parameter(
            parameter._replace(help=f"{', '.join(users[name])}: {parameter.help}"), **own.get(name, {})
        )
        for name, parameter in parameters.items()
    ]


def declare_parameter(parameter: Parameter, **own: Any) -> Argument:
    """Declare a parameter as an option, or as a positional argument if `flags` is empty."""
    flags = own.pop("flags", None)
    if flags is None:
        flag = "--" + (parameter.item or parameter.name).replace("_", "-")
        flags = [*_SHORT.get(flag, ()), flag]
    settings = {**_settings(parameter), **own}
    if parameter.type == TEXTS and "nargs" not in own and "help" not in own:
        settings["help"] += _REPEATABLE[parameter.values == TAG]
    if flags:
        settings["dest"] = parameter.name
    return Argument(tuple(flags) or (parameter.name,), settings, parameter)


def values_of(arguments: argparse.Namespace, operation: Operation) -> dict[str, Any]:
    """Return the values of an operation's parameters by name, lists as tuples."""
    values = {parameter.name: getattr(arguments, parameter.name) for parameter in operation.offered(CLI)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _settings(parameter: Parameter) -> dict[str, Any]:
    """Return the settings of `add_argument` for a parameter."""
    kind, default = parameter.type, parameter.default
    if kind == FLAG:
        return {"action": "store_true", "default": default, "help": parameter.help}
    settings: dict[str, Any] = {"metavar": _placeholder(parameter), "help": parameter.help}
    if kind == TEXTS:
        split = {"action": "extend", "type": split_tags} if parameter.values == TAG else {"action": "append"}
        return {**settings, **split, "default": None if default is None else []}
    if kind in (NUMBER, WHOLE):
        settings["type"] = float if kind == NUMBER else int
        settings["help"] += "" if default is None else f" (default: {default:g})"
    return {**settings, "default": None if parameter.required else default}


def _placeholder(parameter: Parameter) -> str:
    """Return the placeholder of the value in a usage line."""
    placeholder = _PLACEHOLDERS.get(parameter.values) or _PLACEHOLDERS.get(parameter.type)
    return placeholder or (parameter.item or parameter.name).upper()


def split_tags(given: str) -> list[str]:
    """Split tags at commas."""
    return [tag for part in given.split(",") if (tag := part.strip())] or [given]
