"""`engram restore`: restore an entry as it was at a commit or date."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.cli.present import lore_json

DESCRIPTION = (
    "Restore an entry as it was at a commit or date, even if it was deleted since.\n"
    "Judgements and history are kept."
)
EXAMPLES = ("engram restore L1 --at HEAD~3", "engram restore 01M805C3 --at 2026-11-01")
ARGUMENTS = (
    argument("name", "REF", "the entry; a deleted one by its id"),
    argument("--at", "REV", "as it was at this commit, branch, tag or date", required=True),
)


def run(call: Call) -> int:
    from engram.usecases.history.restore import restore

    done = restore(call.store, call.arguments.name, call.arguments.at)
    call.wrote = done.changed
    call.output.document(
        {"lore": lore_json(call, done.lore, done.path), "commit": done.commit, "changed": done.changed}
    )
    word = "Restored" if done.changed else "Already as it was then:"
    call.output.say(f"{word} {done.lore.id}  {done.lore.title}")
    return 0
