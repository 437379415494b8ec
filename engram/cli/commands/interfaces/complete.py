"""`engram complete`: the values that a word on the command line may become; completion scripts call it."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.domain.text.safe_text import safe_text
from engram.operations.description import CATEGORY

DESCRIPTION = "Print the values of a kind that begin with a text, one a line."
EXAMPLES = ("engram complete tag que",)
ARGUMENTS = (
    argument("kind", "KIND", "category, entity, ref, scope, tag or type"),
    argument("begun", "TEXT", "the start of the value", nargs="?", default=""),
)


def run(call: Call) -> int:
    """Print them. A kind that is not known has none."""
    from engram.operations.values import values

    kind = call.arguments.kind
    found = [safe_text(value) for value in values(call.store, kind, call.arguments.begun)]
    if kind == CATEGORY:  # as one types them
        found = [value.lower().replace("_", "-") for value in found]
    call.output.document({"values": found})
    call.output.lines(found)
    return 0
