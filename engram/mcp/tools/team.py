"""The set `team`: tools for agents that share a memory: profiles, handoffs, summaries, contexts, observations, search, upkeep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from engram.domain.agents.framing import NOTICE
from engram.domain.agents.neutralization import neutralize_data
from engram.domain.text.safe_text import safe_text
from engram.mcp import present, results
from engram.mcp.tools.tool import answer, by_name, lore_tool, reading, writing
from engram.operations.recall import SEARCH
from engram.operations.team import CONTEXT, HANDOFF, OBSERVE, REGISTER, SUMMARY

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.agents.context import Context
    from engram.usecases.agents.observations import Observed


class Agent(BaseModel):
    """A registered agent."""

    id: str
    name: str
    capabilities: list[str] = []
    default_scope: str = ""
    settings: dict[str, str] = {}


class Written(BaseModel):
    """A recorded entry; `pending` says why it waits for a person, `new` is true if a conversation began."""

    id: str
    pending: str = ""
    new: bool = False


class Kept(BaseModel):
    """A stored observation, and the number of those that wait."""

    id: str
    waiting: int
    redacted: int = 0


class WorkStep(BaseModel):
    """A step of the periodic work: its number of results, and why it failed."""

    step: str
    number: int
    error: str = ""


class Maintenance(BaseModel):
    """The steps that were done, or would be."""

    dry_run: bool
    steps: list[WorkStep]


class Part(results.FoundLore):
    """An entry of a context, and its part: handoff, summary (of this session), lore, session, entity."""

    part: str


class Prepared(BaseModel):
    """The context for a topic."""

    notice: str
    tokens: int
    found: list[Part] = []
    left_out: int = 0
    notes: list[str] = []


@lore_tool("Register an agent", writing(idempotent=True), REGISTER, index=False)
def register_agent(
    engram: Engram,
    id: str,  # noqa: A002 - the tool's argument
    settings: dict[str, str] = {},  # noqa: B006 - pydantic copies it
    **given: Any,
) -> Annotated[CallToolResult, Agent]:
    """Say who you are and what you can do; call again to change it."""
    done = engram.register_agent(id, settings=settings, **given)
    data = Agent.model_validate(neutralize_data(done.as_dict(), is_checked=False))
    return answer(f"Registered {data.id}: {', '.join(data.capabilities) or data.name}", data)


@lore_tool("Hand over", writing(), HANDOFF)
def handoff(engram: Engram, **given: Any) -> Annotated[CallToolResult, Written]:
    """Hand your work over: the other agent sees it first, once, in its next session or get_context."""
    done = engram.handoff(**given)
    pending = f" It waits for a person: {done.why}." if done.why else ""
    return answer(f"Handed over as {done.lore.id}.{pending}", Written(id=done.lore.id, pending=done.why))


@lore_tool("Context for a topic", writing(), CONTEXT)
def get_context(engram: Engram, **given: Any) -> Annotated[CallToolResult, Prepared]:
    """All you should know to begin: work handed to you (this takes it over), lore, recent sessions, entities."""
    return present_context(engram.get_context(**given))


@lore_tool("Summarize the session", writing(), SUMMARY)
def summarize_session(engram: Engram, **given: Any) -> Annotated[CallToolResult, Written]:
    """Keep the summary of this conversation for later sessions; a second call replaces it."""
    done = engram.summarize(**given)
    waits = f" It waits for a person: {done.pending}." if done.pending else ""
    summary = f"{'Began' if done.new else 'Went on with'} {done.lore.id}.{waits}"
    return answer(summary, Written(id=done.lore.id, pending=done.pending, new=done.new))


@lore_tool("Observe", writing(), OBSERVE, index=False)
def observe(engram: Engram, **given: Any) -> Annotated[CallToolResult, Kept]:
    """Note something in passing; what is worth keeping becomes lore later."""
    return present_observed(engram.observe(**given))


@lore_tool("Maintain", writing(destructive=True, idempotent=True))
def maintain(
    engram: Engram,
    dry_run: Annotated[bool, Field(description="Only say what is due")] = False,
) -> Annotated[CallToolResult, Maintenance]:
    """Do the periodic work that is due: observations, importance, archive, garbage."""
    done = engram.maintain(dry_run=dry_run)
    steps = [WorkStep(**{**step._asdict(), "error": safe_text(step.error)}) for step in done.steps]
    parts = [f"{step.step}: {step.error or step.number}" for step in steps if step.error or step.number]
    summary = ", ".join(parts) or "nothing was due"
    return answer(
        f"{'Would do' if dry_run else 'Done'}: {summary}.", Maintenance(dry_run=dry_run, steps=steps)
    )


@lore_tool("Search lore", reading(), SEARCH)
def search(engram: Engram, **given: Any) -> Annotated[CallToolResult, results.Found]:
    """Find lore that matches every filter; without text, the newest."""
    found = engram.search(**given)
    return present.present_entries(engram, found, found.notes, "No entry matches.", given.get("text") or "")


def present_observed(done: Observed) -> CallToolResult:
    """Present a stored observation."""
    return answer(f"Kept; {done.waiting} waiting.", Kept(**done._asdict()))


def present_context(found: Context) -> CallToolResult:
    """Present a context."""
    parts = {
        "handoff": found.handoffs, "summary": found.summary, "lore": found.lore, "session": found.sessions,
        "entity": found.entities,
    }  # fmt: skip
    rows = [
        Part(ref=item.ref, about=item.about, text=item.content, part=part)
        for part, framed in parts.items()
        for item in framed
    ]
    notes = [safe_text(note) for note in found.notes]
    data = Prepared(notice=NOTICE, tokens=found.tokens, found=rows, left_out=found.left_out, notes=notes)
    return answer(found.text, data)


TOOLS = by_name(get_context, handoff, summarize_session, observe, search, maintain, register_agent)
