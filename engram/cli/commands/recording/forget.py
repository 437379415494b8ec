"""`engram forget`: delete lore."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.cli.present import lore_json
from engram.domain.text.safe_text import safe_text

DESCRIPTION = (
    "Delete lore. Git's history keeps what was committed; to remove a secret, rewrite the history too."
)
EXAMPLES = ("engram forget L3", "engram forget 01M805C3BHSNT8RC9EDAVX894Z --yes")
ARGUMENTS = (argument("names", "REF", "which entries: ref, id, start of an id, or words", nargs="+"),)


def run(call: Call) -> int:
    """Ask where nothing else could bring it back, then delete."""
    from engram.usecases.lookup.listing import get_many
    from engram.usecases.recording.forget import forget

    names = call.arguments.names
    lost = [one.path for one in get_many(call.store, names) if not one.store.places.owns_branch]
    if not call.may_delete(lost):
        call.output.line("Nothing was deleted.")
        return 0
    gone = forget(call.store, names)
    call.wrote = True
    call.output.document({"forgotten": [lore_json(call, one.lore, one.path) for one in gone]})
    call.output.lines(f"Forgot {one.lore.id}  {safe_text(one.lore.title)}" for one in gone)
    if not lost:
        call.output.rule("`engram undo` brings back what was forgotten.")
    return 0
