"""`engram redo`: redo what the last undo took back."""

from __future__ import annotations

from engram.cli.commands.history.undo import report
from engram.cli.invocation import Call

DESCRIPTION = (
    "Redo what the last `engram undo` took back, with a new commit. Repeat it to redo further undos."
)
EXAMPLES = ("engram redo",)
ARGUMENTS = ()


def run(call: Call) -> int:
    from engram.usecases.history.undo import redo

    return report(call, "Redone", redo(call.store))
