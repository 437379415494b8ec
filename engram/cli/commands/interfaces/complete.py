"""`engram complete`: print the possible values of a word on the command line; completion scripts call it."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.domain.text.safe_text import safe_text
from engram.operations.description import CATEGORY

DESCRIPTION = "Print the values of a kind that begin with a text, one a line."
EXAMPLES = ("engram complete tag que",)
ARGUMENTS = (
    argument("kind", "KIND", "category, entity, ref, scope, tag or type"),
    argument("prefix", "TEXT", "the start of the value", nargs="?", default=""),
)


def run(call: Call) -> int:
    """Print the values; none for an unknown kind."""
    from engram.operations.values import values

    kind = call.arguments.kind
    found = [safe_text(value) for value in values(call.store, kind, call.arguments.prefix)]
    if kind == CATEGORY:  # as people type them
        found = [value.lower().replace("_", "-") for value in found]
    call.output.document({"values": found})
    call.output.lines(found)
    return 0
