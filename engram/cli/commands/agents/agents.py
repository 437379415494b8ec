"""`engram agents`: list coding agents, and which are installed and connected."""

from __future__ import annotations

import os

from engram.cli.invocation import Call
from engram.cli.output import DIM, GREEN
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.agents.connect import Presence

DESCRIPTION = (
    "List the coding agents that Engram supports: which are installed here, and what each has connected;\n"
    "then programs that call the HTTP API."
)
EXAMPLES = ("engram agents", "engram connect claude-code        # then")
ARGUMENTS = ()


def run(call: Call) -> int:
    from engram.adapters.agents.servers import SERVER_NAME
    from engram.usecases.agents import connect

    found = connect.presence(connect.connect_options(os.getcwd()))
    found.sort(key=lambda agent: not agent.installed)
    programs = connect.programs()
    call.output.document(
        {"agents": [_json(agent) for agent in found], "programs": [program._asdict() for program in programs]}
    )
    out = call.output
    for agent in found:
        connected = [kind for kind, yes in agent.parts.items() if yes]
        missing = [kind for kind, yes in agent.parts.items() if not yes]
        state = "connected" if not missing else "partly" if connected else "-"
        style = GREEN if state == "connected" else DIM if not agent.installed else ""
        installed = "installed" if agent.installed else "not found"
        line = f"{agent.host.name:<15} {installed:<10} {state:<10} {', '.join(connected or missing)}"
        line += "" if agent.server == SERVER_NAME else f" (server {agent.server})"
        out.line(out.styled(line, *([style] if style else [])))
    for program in programs:
        installed = "running" if program.running else "installed" if program.installed else "not found"
        line = f"{program.name:<15} {installed:<10} {'-':<10} by HTTP: engram serve"
        out.line(out.styled(line, *([] if program.running or program.installed else [DIM])))
    out.dim("engram connect AGENT, or --all, connects; --dry-run shows what it would change")
    return 0


def _json(agent: Presence) -> dict[str, object]:
    return {
        "agent": agent.host.name,
        "title": agent.host.title,
        "installed": agent.installed,
        "connected": all(agent.parts.values()),
        "parts": agent.parts,
        "server": agent.server if agent.host.server else "",
        "files": agent.paths,
    }
