"""`engram forget`: delete lore."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.cli.present import lore_json

DESCRIPTION = (
    "Delete lore. Git's history keeps what was committed; to remove a secret, rewrite the history too."
)
EXAMPLES = ("engram forget L3", "engram forget 01M805C3BHSNT8RC9EDAVX894Z --yes")
ARGUMENTS = (argument("names", "REF", "which entries: ref, id, start of an id, or words", nargs="+"),)


def run(call: Call) -> int:
    """Delete entries, after asking about those that Engram could not restore."""
    from engram.usecases.lookup.listing import get_many
    from engram.usecases.recording.forget import forget

    names = call.arguments.names
    unrecoverable = [
        entry.path for entry in get_many(call.store, names) if not entry.store.places.owns_branch
    ]
    if not call.may_delete(unrecoverable):
        call.output.line("Nothing was deleted.")
        return 0
    deleted = forget(call.store, names)
    call.wrote = True
    call.output.document({"forgotten": [lore_json(call, entry.lore, entry.path) for entry in deleted]})
    call.output.say(*(f"Forgot {entry.lore.id}  {entry.lore.title}" for entry in deleted))
    if not unrecoverable:
        call.output.dim("`engram undo` brings back what was forgotten.")
    return 0
