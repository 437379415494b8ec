"""`engram team`: the agents that share this memory: profiles, handoffs, summaries, contexts, observations."""

from __future__ import annotations

from engram.cli.invocation import Call, split_pair, text_or_stdin
from engram.cli.output import CYAN, shorten
from engram.cli.parsing import argument, declare_all, switch, values_of
from engram.domain.errors import UsageError
from engram.domain.text.counted_nouns import counted, entries
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING
from engram.operations.team import CONTEXT, HANDOFF, OBSERVE, REGISTER, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.domain.entry.lore import Lore
    from engram.domain.graph.team import AgentProfile
    from engram.usecases.graph.agent_profiles import KnownAgent

DESCRIPTION = (
    "The agents that share this memory (`engram agents` lists the coding agents on this machine):\n"
    "  list, register ID, show ID   their profiles, as files of the store; registering is optional\n"
    "  handoff TEXT, handoffs       hand work over, and list open handoffs\n"
    "  summary TEXT                 summarize this session; within half an hour, replaces the last summary\n"
    "  context TOPIC                the context for a topic, handoffs first, within a token budget\n"
    "  observe TEXT                 store a text now, to become pending lore later"
)
EXAMPLES = (
    "engram team register ada --name Ada --capability review --set tone=short",
    'engram team handoff "The consumer is done, retries are left." --to bob --topic queue',
    'engram team context "queue retries" --tokens 800 --agent bob',
    'engram team summary "Moved the queue to the new broker." --with bob',
)


def run(call: Call) -> int:
    _ACTIONS[call.arguments.action](call)
    return 0


def _read_text(call: Call, what: str) -> str:
    words = call.arguments.text
    if not words:
        raise UsageError(f"No {what} was given.", f"engram team {call.arguments.action} {what.upper()}")
    return text_or_stdin(" ".join(words), what)


def _list(call: Call) -> None:
    from engram.usecases.graph.agent_profiles import list_agents

    if call.arguments.text:
        raise UsageError("`engram team list` takes no arguments.", "For one agent: engram team show ID")
    found = list_agents(call.store)
    call.output.document({"agents": [_json(agent) for agent in found]})
    for agent in found:
        _print_line(call, agent)
    if not found:
        call.output.line("No agent is registered, and none was seen here yet.")
        call.output.dim("Next: engram team register ID")


def _register(call: Call) -> None:
    from engram.domain.graph.team import AgentProfile
    from engram.usecases.graph.agent_profiles import register_agent

    settings = tuple(
        split_pair(text, "a setting", "Write --set name=value.") for text in call.arguments.settings
    )
    profile = AgentProfile(_read_text(call, "id"), **values_of(call.arguments, REGISTER), settings=settings)
    done = register_agent(call.store, profile)
    call.wrote = True
    _print_agent(call, done)


def _show(call: Call) -> None:
    from engram.usecases.graph.agent_profiles import read_agent

    profile = read_agent(call.store, _read_text(call, "id"))
    _print_agent(call, profile)
    call.output.say(*(f"  {name} = {value}" for name, value in profile.settings))
    if profile.default_scope:
        call.output.line(f"  default scope: {profile.default_scope}")
    if profile.text:
        call.output.say(profile.text, lines=True)


def _print_agent(call: Call, profile: AgentProfile) -> None:
    from engram.usecases.graph.agent_profiles import KnownAgent, last_seen

    agent = KnownAgent(profile, True, last_seen(call.store, profile.id))
    call.output.document({"agent": _json(agent)})
    _print_line(call, agent)


def _handoff(call: Call) -> None:
    from engram.cli.present import lore_json
    from engram.usecases.agents.handoffs import handoff
    from engram.usecases.graph.agent_profiles import store_of_agent

    values = values_of(call.arguments, HANDOFF)
    giver = values.pop("agent")
    where = store_of_agent(call.store, giver or call.store.caller.agent, call.scope)
    done = handoff(where, _read_text(call, "text"), giver=giver, **values)
    call.wrote = True
    call.output.document({"lore": lore_json(call, done.lore, done.path), "to": values["to"], "why": done.why})
    call.output.line(_title_line(call, done.lore))
    if done.why:
        call.output.note(f"It waits for a person: {done.why}.")


def _handoffs(call: Call) -> None:
    from engram.domain.entry.times import render
    from engram.usecases.agents.handoffs import open_handoffs

    if call.arguments.text:
        raise UsageError("`engram team handoffs` takes no arguments.", "For one agent: --agent ID")
    found = open_handoffs(call.store, call.arguments.agent or None, limit=1000)
    rows = [
        {
            "id": handoff.lore.id, "from": handoff.giver, "to": handoff.receiver, "title": handoff.lore.title,
            "created_at": render(handoff.lore.created_at), "path": handoff.path,
        }
        for handoff in found
    ]  # fmt: skip
    call.output.document({"handoffs": rows})
    call.output.lines(_title_line(call, handoff.lore) for handoff in found)
    if not found:
        call.output.line("There are no handoffs.")


def _summary(call: Call) -> None:
    from engram.cli.present import WAITS, lore_json
    from engram.usecases.agents.conversations import summarize

    done = summarize(call.store, _read_text(call, "text"), **values_of(call.arguments, SUMMARY))
    call.wrote = True
    lore = lore_json(call, done.lore, done.path)
    call.output.document({"lore": lore, **done.keys._asdict(), "new": done.new, "why": done.pending})
    call.output.line(f"{'New' if done.new else 'Updated'} summary {_title_line(call, done.lore)}")
    if done.pending:
        call.output.line(WAITS.format(done.pending))


def _context(call: Call) -> None:
    from engram.usecases.agents.context import get_context

    values = values_of(call.arguments, CONTEXT)
    take = not call.arguments.keep
    found = get_context(call.store, _read_text(call, "topic"), **values, scope=call.scope, take=take)
    call.wrote = bool(found.taken)
    call.output.document(found.as_dict())
    call.output.say(found.text, lines=True)
    left = f", {entries(found.left_out)} did not fit" if found.left_out else ""
    call.output.dim(f"about {found.tokens:,} tokens{left}")
    call.output.notes(found.notes)


def _observe(call: Call) -> None:
    from engram.usecases.agents.observations import observe
    from engram.usecases.graph.agent_profiles import store_of_agent

    values = values_of(call.arguments, OBSERVE)
    where = store_of_agent(call.store, values["agent"] or call.store.caller.agent, call.scope)
    done = observe(where, _read_text(call, "text"), **values)
    call.wrote = True
    call.output.document(done._asdict())
    call.output.line(
        f"Kept; {counted(done.waiting, 'observation is', 'observations are')} waiting to be processed."
    )
    if done.redacted:
        call.output.note(f"Masked {counted(done.redacted, 'secret')}.")


_ACTIONS: dict[str, Callable[[Call], None]] = {
    "list": _list,
    "register": _register,
    "show": _show,
    "handoff": _handoff,
    "handoffs": _handoffs,
    "summary": _summary,
    "context": _context,
    "observe": _observe,
}
ARGUMENTS = (
    argument(
        "action", "ACTION", "what to do (default: list)", nargs="?", default="list", choices=tuple(_ACTIONS)
    ),
    argument("text", "WORD", "the id, text or topic (a text may be - for standard input)", nargs="*"),
    *declare_all(
        (HANDOFF, SUMMARY, CONTEXT, OBSERVE, REGISTER),
        agent={"metavar": "ID"},
        to={"metavar": "ID"},
        participants={"metavar": "ID"},
        max_tokens={"flags": ["--tokens"]},
        capabilities={"metavar": "WORD"},
        default_scope={"metavar": "SCOPE"},
    ),
    switch("--keep", "context: leave the handoffs open"),
    argument("--set", "NAME=VALUE", "register: a setting", dest="settings", action="append", default=[]),
)


def _json(agent: KnownAgent) -> dict[str, object]:
    """Return the JSON of an agent; `seen_at` is null if it was never seen on this machine."""
    return {**agent.profile.as_dict(), "registered": agent.registered, "seen_at": _format_seen_at(agent)}


def _format_seen_at(agent: KnownAgent) -> str | None:
    from datetime import UTC, datetime

    from engram.domain.entry.times import render, whole_seconds

    return render(whole_seconds(datetime.fromtimestamp(agent.seen_at, UTC))) if agent.seen_at else None


def _title_line(call: Call, lore: Lore) -> str:
    return f"{call.output.styled(lore.id, CYAN)} {safe_text(lore.title)}"


def _print_line(call: Call, agent: KnownAgent) -> None:
    profile = agent.profile
    facts = [profile.name if profile.name != profile.id else "", ", ".join(profile.capabilities)]
    seen_at = _format_seen_at(agent)
    facts += ["" if agent.registered else "not registered", f"seen {seen_at}" if seen_at else ""]
    details = shorten(safe_text(" · ".join(filter(None, facts))), call.output.width - 26)
    call.output.line(f"{call.output.styled(f'{safe_text(profile.id):<24}', CYAN)} {details}")
