"""`engram move`: move a store to another placement."""

from __future__ import annotations

import os

from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.domain.settings import PLACEMENTS
from engram.domain.text.counted_nouns import entries

DESCRIPTION = (
    "Move the store: to a repository of its own, to the branch engram/lore of a code repository, or into its files.\n"
    "Ids, judgements, files and history are kept; in your files, lore waits for you to commit it. The old place\n"
    "stays valid until the new one is complete."
)
EXAMPLES = (
    "engram move --to branch --dry-run",
    "engram move --to dedicated ~/team-lore",
    "engram --store ~/team-lore move --to in-tree",
)
ARGUMENTS = (
    argument(
        "path",
        "PATH",
        "the new repository (default: NAME-lore next to this one), or the code repository (default: this one)",
        nargs="?",
        default="",
    ),
    argument("--to", help="the new placement", choices=PLACEMENTS, required=True),
    switch("--dry-run", "show what would be done; change nothing"),
)


def run(call: Call) -> int:
    from engram.usecases.placement.move import move, plan

    given = call.arguments
    found = plan(call.store, given.to, os.path.expanduser(given.path))
    if not given.dry_run:
        move(call.store, found)
        call.close_store()
    call.output.document({"dry_run": given.dry_run, **found.as_dict()})
    verb = "Would move" if given.dry_run else "Moved"
    start, end = found.start, found.end
    call.output.say(f"{verb} {entries(found.lore)} from {start.path}  ({start.placement})")
    call.output.say(f"to {end.path}  ({end.placement})")
    if given.dry_run:
        for number, step in enumerate(found.steps, 1):
            call.output.dim(f"{number}. {step}")
    call.output.dim(found.kept)
    return 0
