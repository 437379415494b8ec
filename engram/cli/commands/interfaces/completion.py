"""`engram completion`: print a completion script for a shell."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument, full_parser
from engram.domain.typed import TYPE_CHECKING
from engram.operations.description import CATEGORY, ENTITY, FILE, REF, SCOPE, TAG, TYPE

if TYPE_CHECKING:
    import argparse


DESCRIPTION = (
    "Print a completion script for your shell. It completes commands, options and their values; categories, tags,\n"
    "refs, scopes and entities are those of the store around you."
)
EXAMPLES = (
    "engram completion bash > ~/.local/share/bash-completion/completions/engram",
    "engram completion zsh > ~/.zfunc/_engram",
    "engram completion fish > ~/.config/fish/completions/engram.fish",
)
SHELLS = ("bash", "zsh", "tcsh", "fish")
_DYNAMIC = (CATEGORY, TYPE, TAG, REF, SCOPE, ENTITY)  # kinds that `engram complete` lists
_BY_PLACEHOLDER = {"PATH": FILE, "REF": REF}  # for arguments without a description
_FUNCTIONS = {
    "bash": '_engram_{0}() {{ engram complete {0} -- "$1" 2>/dev/null; }}',
    "zsh": '_engram_{0}() {{ compadd -- ${{(f)"$(engram complete {0} -- "$PREFIX" 2>/dev/null)"}} }}',
}
ARGUMENTS = (argument("shell", help="bash, zsh, tcsh or fish", choices=SHELLS),)


def run(call: Call) -> int:
    script = completion_script(call.arguments.shell)
    call.output.document({"shell": call.arguments.shell, "script": script})
    call.output.line(script)
    return 0


def completion_script(shell: str) -> str:
    """Return the script for a shell."""
    import shtab

    parser = full_parser()
    for action in _actions(parser):
        _add_values(action)
    functions = "\n".join(_FUNCTIONS[shell].format(kind) for kind in _DYNAMIC) if shell in _FUNCTIONS else ""
    script: str = shtab.complete(parser, shell=shell, preamble=functions)
    return script


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of all commands."""
    parsers = [parser]
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way
        if isinstance(action.choices, dict):
            parsers += action.choices.values()
    return [action for each in parsers for action in each._actions]  # noqa: SLF001


def _add_values(action: argparse.Action) -> None:
    """Tell shtab how to complete the values of an argument."""
    from shtab import FILE as FILES

    parameter = getattr(action, "parameter", None)
    if parameter is not None and parameter.choices:
        action.choices = parameter.choices
        return
    kind = parameter.values if parameter else _BY_PLACEHOLDER.get(str(action.metavar), "")
    kind = SCOPE if "--scope" in action.option_strings else kind
    if kind == FILE:
        action.complete = FILES  # type: ignore[attr-defined]
    elif kind in _DYNAMIC:
        action.complete = {  # type: ignore[attr-defined]
            "bash": f"_engram_{kind}",
            "zsh": f"_engram_{kind}",
            "tcsh": f"`engram complete {kind}`",
            "fish": f"(engram complete {kind} -- (commandline -ct) 2>/dev/null)",
        }
