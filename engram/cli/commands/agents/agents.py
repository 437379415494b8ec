"""`engram agents`: which coding agents are here, and which are connected."""

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

    found = connect.presence(connect.wish(os.getcwd()))
    found.sort(key=lambda one: not one.installed)
    programs = connect.programs()
    call.output.document(
        {"agents": [_facts(one) for one in found], "programs": [one._asdict() for one in programs]}
    )
    out = call.output
    for one in found:
        there = [kind for kind, yes in one.parts.items() if yes]
        missing = [kind for kind, yes in one.parts.items() if not yes]
        state = "connected" if not missing else "partly" if there else "-"
        style = GREEN if state == "connected" else DIM if not one.installed else ""
        installed = "installed" if one.installed else "not found"
        line = f"{one.host.name:<15} {installed:<10} {state:<10} {', '.join(there or missing)}"
        line += "" if one.server == SERVER_NAME else f" (server {one.server})"
        out.line(out.styled(line, *([style] if style else [])))
    for program in programs:
        installed = "running" if program.running else "installed" if program.installed else "not found"
        line = f"{program.name:<15} {installed:<10} {'-':<10} by HTTP: engram serve"
        out.line(out.styled(line, *([] if program.running or program.installed else [DIM])))
    out.rule("engram connect AGENT, or --all, connects; --dry-run shows what it would change")
    return 0


def _facts(one: Presence) -> dict[str, object]:
    return {
        "agent": one.host.name,
        "title": one.host.title,
        "installed": one.installed,
        "connected": all(one.parts.values()),
        "parts": one.parts,
        "server": one.server if one.host.server else "",
        "files": list(one.paths),
    }
