"""`engram completion`: a script for the shell."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from engram.cli.call import Call

DESCRIPTION = "Print a completion script for your shell."
EXAMPLES = (
    "engram completion bash > ~/.local/share/bash-completion/completions/engram",
    "engram completion zsh > ~/.zfunc/_engram",
)
SHELLS = ("bash", "zsh", "tcsh")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="bash, zsh or tcsh")


def run(call: Call) -> int:
    """Print the script."""
    import shtab

    from engram.cli.parsing import full_parser

    script = shtab.complete(full_parser(), shell=call.arguments.shell)
    call.output.document({"shell": call.arguments.shell, "script": script})
    call.output.line(script)
    return 0
