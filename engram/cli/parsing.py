"""Parsers: one for the command that is called (start-up time), or all of them (help, documentation, completion)."""

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


# Its words are in English as all of ours: looking for translations of three of them costs a millisecond of every start.
argparse._ = lambda text: text  # type: ignore[attr-defined]
_VALUE_OPTIONS = ("--store", "--scope")
_FLAGS = ("--json", "--no-input", "--yes")


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal; argparse's own way to find that out imports shutil, 4 ms of every start."""

    def __init__(self, prog: str, width: int | None = None) -> None:
        super().__init__(prog, width=width or terminal_width())


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are EngramErrors. Options are not abbreviated: a new one must not break a script."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting, so that `--json` can report it."""
        hint = f"See: {self.prog} --help"
        if message.startswith("unrecognized arguments: -"):
            near = " or ".join(f"--{name}" for name in self._nearest_options(message.split()[2]))
            dash = f"{hint}. A text that begins with a dash goes behind --"
            hint = f"Did you mean {near}? {hint}" if near else dash
        elif message.startswith("unrecognized arguments: "):
            takes_text = bool(self._get_positional_actions())
            hint += ". A text of several words goes in quotes" if takes_text else ". It takes options alone"
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", hint)

    def _nearest_options(self, wrong: str) -> list[str]:
        """Return the options that were probably meant, without dashes: add-tag and remove-tag for --tag."""
        import difflib

        word = wrong.split("=", maxsplit=1)[0].lstrip("-")
        known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        longer = [name for name in known if len(word) > 1 and name.endswith(f"-{word}")]
        return longer or difflib.get_close_matches(word, known, 1, 0.75)


def command_parser(command: Command, **options: Any) -> argparse.ArgumentParser:
    """The parser of one command."""
    parser = Parser(prog=f"engram {command.name}", **_describe(command), **options)
    _configure(parser, command)
    return parser


def full_parser() -> argparse.ArgumentParser:
    """The parser of everything, for shells to complete; it imports every command."""
    parser = Parser(prog="engram", formatter_class=Help)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=Parser)
    for command in COMMANDS:
        known = commands.add_parser(
            command.name, aliases=command.aliases, help=command.summary, **_describe(command)
        )
        _configure(known, command)
    return parser


def command_first(arguments: Sequence[str]) -> list[str]:
    """Move options that stand before the command behind it: `--json query x` is `query --json x`."""
    moved: list[str] = []
    rest = list(arguments)
    while rest and is_shared_option(rest[0]):
        takes_value = rest[0] in _VALUE_OPTIONS and len(rest) > 1
        moved += [rest.pop(0) for _ in range(1 + takes_value)]
    return rest[:1] + moved + rest[1:]


def is_shared_option(word: str) -> bool:
    """Whether a word is an option that every command has."""
    return word in _FLAGS or word.split("=", maxsplit=1)[0] in _VALUE_OPTIONS


def module_of(command: Command) -> Any:
    """The module that does a command."""
    name = f"engram.cli.commands.{command.module}"
    __import__(name)  # importlib is one module more
    return sys.modules[name]


def terminal_width() -> int:
    """The columns that a help text may fill."""
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
    for one in module_of(command).ARGUMENTS:
        if isinstance(one, list):  # of these at most one can be given
            either = parser.add_mutually_exclusive_group()
            for choice in one:
                choice.add_to(either)
        else:
            one.add_to(parser)
    shared = parser.add_argument_group("options of every command")
    for one in _SHARED:
        one.add_to(shared)


# Arguments of a command: said by itself, or by the description of an operation.

_SHORT = {"--category": ["-c"], "--file": ["-f"], "--tag": ["-t"]}
_PLACEHOLDERS = {FILE: "PATH", REF: "REF", ENTITY: "NAME", NUMBER: "F", WHOLE: "N"}
_REPEATABLE = (" (repeatable)", " (repeatable, or with commas)")


class Argument(NamedTuple):
    """What `add_argument` gets, and the parameter of an operation that it stands for, if it does."""

    names: tuple[str, ...]
    settings: dict[str, Any]
    parameter: Parameter | None = None

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Declare it."""
        action = parser.add_argument(*self.names, **self.settings)
        action.described = self.parameter  # type: ignore[attr-defined] # for shell completion


def argument(names: str, metavar: str | None = None, help: str = "", **settings: Any) -> Argument:  # noqa: A002 - as argparse has it
    """Return an argument; its names are apart by spaces, and `settings` are others of `add_argument`."""
    return Argument(tuple(names.split()), {"metavar": metavar, "help": help, **settings})


def switch(names: str, help: str, **settings: Any) -> Argument:  # noqa: A002 - as argparse has it
    """Return an option without a value."""
    return Argument(tuple(names.split()), {"action": "store_true", "help": help, **settings})


def repeatable(names: str, metavar: str, help: str, **settings: Any) -> Argument:  # noqa: A002 - as argparse has it
    """Return an option that can be given several times, for a list."""
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
    """Return what the command line offers of an operation; `own` are this command's settings, by parameter.

    A setting is one of `add_argument`, or `flags`: the option's spellings, none of them for a positional argument.
    """
    return [described(one, **own.get(one.name, {})) for one in operation.offered(CLI)]


def declare_all(operations: tuple[Operation, ...], **own: dict[str, Any]) -> list[Argument]:
    """Return what a command offers of several operations, each parameter once; its help names what it is for."""
    users: dict[str, list[str]] = {}
    parameters: dict[str, Parameter] = {}
    for operation in operations:
        for one in operation.offered(CLI):
            users.setdefault(one.name, []).append(operation.name)
            parameters.setdefault(one.name, one)
    return [
        described(one._replace(people=f"{', '.join(users[name])}: {one.people}"), **own.get(name, {}))
        for name, one in parameters.items()
    ]


def described(parameter: Parameter, **own: Any) -> Argument:
    """Return one parameter as an option, or as a positional argument where `flags` is empty."""
    flags = own.pop("flags", None)
    if flags is None:
        flag = "--" + (parameter.one or parameter.name).replace("_", "-")
        flags = [*_SHORT.get(flag, ()), flag]
    settings = {**_settings(parameter), **own}
    if parameter.type == TEXTS and "nargs" not in own and "help" not in own:
        settings["help"] += _REPEATABLE[parameter.values == TAG]
    if flags:
        settings["dest"] = parameter.name
    return Argument(tuple(flags) or (parameter.name,), settings, parameter)


def values_of(arguments: argparse.Namespace, operation: Operation) -> dict[str, Any]:
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
