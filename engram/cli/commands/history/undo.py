"""`engram undo`: undo Engram's last operations."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.history.undo import Undone

DESCRIPTION = (
    "Undo the last operations of this clone (record, feedback, edit, forget, import, …) with a new commit.\n"
    "What others have changed since stays, and pushed commits stay in the history."
)
EXAMPLES = ("engram undo", "engram undo 3", "engram redo")
ARGUMENTS = (argument("count", "N", "how many (default 1)", nargs="?", type=int, default=1),)


def run(call: Call) -> int:
    from engram.usecases.history.undo import undo

    return report(call, "Undone", undo(call.store, call.arguments.count))


def report(call: Call, word: str, done: Undone) -> int:
    """Print the operations that were undone or redone. `word` is the verb."""
    call.wrote = True
    call.output.document(
        {word.lower(): done.operations, "lore": done.lore, "paths": done.paths, "notes": done.kept}
    )
    call.output.say(*(f"{word}: {subject}" for subject in done.operations))
    call.output.notes(done.kept)
    return 0
