"""`engram connect`: let coding agents use Engram."""

from __future__ import annotations

import os

from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.cli.sync_prompts import ask_to_sync
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.agents.hosts import Host
    from engram.adapters.agents.parts import ConnectOptions

DESCRIPTION = (
    "Let a coding agent use Engram: MCP server, hooks, rules, commands. `engram agents` lists the agents.\n"
    "After a preview, the settings are merged into its configuration files, with a backup next to each;\n"
    "running it again changes nothing."
)
EXAMPLES = (
    "engram connect claude-code",
    "engram connect --all --dry-run",
    "engram connect cursor --print           # what to add by hand",
    "engram connect claude-code --project    # files to commit, for everybody in the project",
    "engram connect devcontainer --print",
)
_DEVCONTAINER = "devcontainer"
ARGUMENTS = (
    argument(
        "agent", "AGENT", "claude-code, cursor, codex, …: `engram agents` lists them", nargs="?", default=""
    ),
    switch("--all", "every agent that is installed here"),
    switch("--dry-run", "only show the changes"),
    switch(
        "--print", "only print what to add by hand (also for devcontainer; without AGENT: for any MCP host)"
    ),
    switch("--allow-tools", "let the agent use read-only tools without asking"),
    switch("--no-rules", "leave AGENTS.md and other rule files alone"),
    switch(
        "--project",
        "write the agent's files in this repository instead, with a portable command, for a team to commit",
    ),
    argument("--plugin", "FOLDER", "write Claude Code's plugin into a folder instead", default=""),
)


def run(call: Call) -> int:
    from engram.cli.connection_plans import carry_out
    from engram.usecases.agents import connect

    given = call.arguments
    if given.plugin and given.agent != "claude-code":
        raise UsageError("--plugin is only for claude-code.", "engram connect claude-code --plugin FOLDER")
    if given.project and given.plugin:
        raise UsageError("--project and --plugin exclude each other.", "Choose one of them.")
    make_wish = connect.project_options if given.project else connect.connect_options
    wanted = make_wish(os.getcwd(), allow_tools=given.allow_tools, rules=not given.no_rules)
    if given.print:
        return _print(call, given.agent, wanted)
    hosts = choose_agents(call, connect.installed_agents(wanted) if given.all else [])
    if wanted.command:
        connect.check_command(wanted.command)
    code = carry_out(call, hosts, lambda host: connect.plan(host, wanted, given.plugin), connected=True)
    if not given.dry_run:
        ask_to_sync(call)
    return code


def choose_agents(call: Call, every: list[Host]) -> list[Host]:
    """Return the named agent, or `every` with --all; with --project, its files in the project. Raises UsageError."""
    from engram.usecases.agents.connect import agent_named, host_in_project

    given = call.arguments
    if bool(given.agent) == given.all:
        raise UsageError("Name one agent, or --all.", "`engram agents` lists what is installed here.")
    if given.all:
        return every
    host = agent_named(given.agent)
    return [host_in_project(host) if given.project else host]


def _print(call: Call, agent: str, wanted: ConnectOptions) -> int:
    """Print the snippets to add by hand, each with its file."""
    from engram.adapters.agents import guides
    from engram.adapters.agents.parts import generic
    from engram.usecases.agents.connect import agent_named, host_in_project, manual_steps

    notes: list[str] = []
    if agent == _DEVCONTAINER:
        found = [("devcontainer.json, compose.yaml", guides.DEVCONTAINER)]
    elif agent:
        host = agent_named(agent)
        found, notes = manual_steps(host if wanted.command else host_in_project(host), wanted)
    else:
        found = [("any other MCP host", generic(wanted))]
    call.output.document({"snippets": [{"path": path, "text": text} for path, text in found]})
    call.output.notes(notes)
    for path, text in found:
        call.output.dim(path)
        call.output.line(text)
    return 0
