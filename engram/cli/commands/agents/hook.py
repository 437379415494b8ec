"""`engram hook`: called by coding agents at the events of a session."""

from __future__ import annotations

from engram.adapters.agents.hook_events import EVENTS, HOOKS
from engram.cli.invocation import Call
from engram.cli.parsing import argument

DESCRIPTION = (
    "Answer an event of a coding agent: its JSON on standard input, the answer in that agent's own schema.\n"
    "`engram connect` sets it up. It always exits with 0, and prints nothing if there is no answer."
)
EXAMPLES = (
    "engram hook prompt --agent claude-code < event.json",
    "engram hook session-start --agent codex < event.json",
)
ARGUMENTS = (
    argument("event", "EVENT", f"one of {', '.join(EVENTS)}", choices=EVENTS),
    argument("--agent", help="the agent that sent the event", required=True, choices=tuple(HOOKS)),
)


def run(call: Call) -> int:
    """Answer the event. With `--json` an event that needs no answer has the answer {}."""
    import json

    from engram.hooks.process import leave, respond

    found = respond(call.arguments)
    if found is not None or call.output.json:
        leave(json.dumps(found or {}) + "\n" * call.output.json)
    return 0
