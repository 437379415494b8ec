"""`engram init`: create a store."""

from __future__ import annotations

import os

from engram.cli.commands.sync.sync import TIME_LIMIT
from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.cli.progress import steps
from engram.cli.sync_prompts import ask_to_sync
from engram.domain.errors import UsageError
from engram.domain.settings import PLACEMENTS
from engram.domain.text.safe_text import safe_text

DESCRIPTION = (
    "Create a store: in a code repository on a branch of its own, shared by all worktrees; in a vault of Obsidian\n"
    "its notes, where they are; elsewhere a git repository of its own. If the remote already has a branch of lore,\n"
    "that branch is used."
)
EXAMPLES = (
    "engram init ~/notes",
    "engram init                       # here",
    "engram init --placement in-tree",
    "engram init --here                # the notes of this folder, where they are",
)
ARGUMENTS = (
    argument("path", "PATH", "where (default: this folder)", nargs="?", default="."),
    argument(
        "--placement",
        help="dedicated (a repository of its own), branch (engram/lore of your repository) or in-tree (files you commit)",
        choices=PLACEMENTS,
        default="",
    ),
    switch("--here", "make every note of this folder lore, in place: a vault of Obsidian, a folder of docs"),
    TIME_LIMIT,
)


def run(call: Call) -> int:
    from engram.usecases.opening.init import init, init_here

    given = call.arguments
    path = os.path.expanduser(given.path)
    if given.here:
        if given.placement:
            raise UsageError(
                "--here and --placement cannot be combined.",
                "The files stay in your folder: leave out --placement.",
            )
        done = init_here(path)
    else:
        with steps(call.output) as step:
            done = init(path, placement=given.placement, timeout=given.timeout, step=step)
    call.output.document(
        {
            "store": {"path": done.root, "placement": done.placement},
            "existed": done.existed,
            "why": done.why,
            "otherwise": done.otherwise,
        }
    )
    call.output.line(f"{'There is a store' if done.existed else 'Made a store'} at {safe_text(done.root)}")
    call.output.line(done.why)
    call.output.dim(done.otherwise)
    if not done.existed:
        call.output.dim('Next: engram record "what you learned" --category fact')
    ask_to_sync(call, done.root)
    return 0
