"""`engram disconnect`: remove what `connect` added to an agent's configuration, and nothing else."""

from __future__ import annotations

import os

from engram.cli.commands.agents.connect import choose_agents
from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch

DESCRIPTION = (
    "Remove what `engram connect` added from an agent's configuration, after a preview.\n"
    "A file that has not changed since gets its old bytes back; from others only what Engram added is removed."
)
EXAMPLES = (
    "engram disconnect claude-code",
    "engram disconnect --all --dry-run",
    "engram disconnect claude-code --project",
)
ARGUMENTS = (
    argument("agent", "AGENT", "claude-code, cursor, codex, …", nargs="?", default=""),
    switch("--all", "every agent that is connected"),
    switch("--project", "remove it from this repository's files"),
    switch("--dry-run", "only show the changes"),
)


def run(call: Call) -> int:
    from engram.cli.connection_plans import carry_out
    from engram.usecases.agents import connect

    given = call.arguments
    wanted = (connect.project_options if given.project else connect.connect_options)(os.getcwd())
    return carry_out(
        call,
        choose_agents(call, connect.connected_agents(wanted) if given.all else []),
        lambda host: connect.plan_removal(host, wanted),
        connected=False,
    )
