"""`engram complete`: the values that a word on the command line may become; completion scripts call it."""

from __future__ import annotations

from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING
from engram.operations.description import CATEGORY

if TYPE_CHECKING:
    import argparse

    from engram.cli.invocation import Call

DESCRIPTION = "Print the values of a kind that begin with a text, one a line."
EXAMPLES = ("engram complete tag que",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("kind", metavar="KIND", help="category, entity, ref, scope, tag or type")
    parser.add_argument("begun", metavar="TEXT", nargs="?", default="", help="the start of the value")


def run(call: Call) -> int:
    """Print them. A kind that is not known has none."""
    from engram.operations.values import values

    kind = call.arguments.kind
    found = [safe_text(value) for value in values(call.store, kind, call.arguments.begun)]
    if kind == CATEGORY:  # as one types them
        found = [value.lower().replace("_", "-") for value in found]
    call.output.document({"values": found})
    for value in found:
        call.output.line(value)
    return 0
