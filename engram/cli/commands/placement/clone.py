"""`engram clone`: clone a store from a remote."""

from __future__ import annotations

import os

from engram.cli.commands.sync.sync import TIME_LIMIT
from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.cli.progress import steps
from engram.cli.sync_prompts import allow_cloned
from engram.domain.text.counted_nouns import entries

DESCRIPTION = (
    "Clone a store from a remote; `engram sync` keeps the two in sync afterwards.\n"
    "An empty repository becomes a new store."
)
EXAMPLES = (
    "engram clone git@example.org:team/lore.git",
    "engram clone https://example.org/lore.git ~/team-lore",
)
ARGUMENTS = (
    argument("url", "URL", "the repository's address: https, ssh or a folder"),
    argument("path", "PATH", "where to (default: a folder of its name, here)", nargs="?", default=""),
    TIME_LIMIT,
)


def run(call: Call) -> int:
    from engram.usecases.placement.clone import clone

    given = call.arguments
    with steps(call.output) as step:
        done = clone(given.url, os.path.expanduser(given.path), timeout=given.timeout, step=step)
    call.output.document(
        {"store": {"path": done.root, "placement": "dedicated"}, "lore_count": done.lore, "empty": done.empty}
    )
    if done.empty:
        call.output.say(f"The remote is empty: made a new store at {done.root}")
        call.output.dim("Next: engram record …, then engram sync")
    else:
        call.output.say(f"Cloned {entries(done.lore)} to {done.root}")
        allow_cloned(call, done.root)
    return 0
