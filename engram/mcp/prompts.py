"""Prompts: recall before a task, reflect after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from engram.domain.agents.framing import NOTICE
from engram.domain.agents.neutralization import neutralize
from engram.domain.errors import EngramError
from engram.domain.text.safe_text import safe_text
from engram.mcp import present
from engram.mcp.caller import use
from engram.mcp.resources import session_refs

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.mcp.caller import Work

_REFLECT = """Look back on the work of this session.

1. Judge what you were shown with recall_feedback: helpful, not_relevant or incorrect. Shown so far:
{shown}
2. Record each lesson that would have saved time with recall_record: a decision and its reason, the cause of a failure, \
a gotcha, a workflow that worked. One lesson each, true beyond this task, without secrets; \
last, in everyday words, the symptom or question and the task it helps with. Nothing new? Record nothing."""


async def recall(
    task: Annotated[str, Field(description="What is about to be done")],
    category: Annotated[str, Field(description="Only lore of this category")] = "",
    tag: Annotated[str, Field(description="Only lore with this tag")] = "",
) -> str:
    """Start a task with the lore that is known about it."""

    def work(engram: Engram) -> str:
        answered = present.drop_stragglers(engram.query(task, categories=category or (), tags=tag or ()))
        fitted = present.frame_answer(engram, answered, task)
        known = present.format_answer(fitted, [NOTICE]) if fitted.items else "Nothing is known about it here."
        return f"{known}\n\nTask: {task}\n\nAfterwards, judge the entries by their refs with recall_feedback."

    return await _prompt(work)


async def reflect(
    outcome: Annotated[str, Field(description="What came out of the task")] = "",
) -> str:
    """End a task: judge the lore that was shown, write down what was learned."""

    def work(engram: Engram) -> str:
        shown = [neutralize(f"> {ref.name} · {ref.title}", is_checked=False) for ref in session_refs(engram)]
        text = _REFLECT.format(shown="\n".join(shown) or "> nothing")
        return f"{text}\n\nOutcome: {outcome}" if outcome else text

    return await _prompt(work, index=False)


def add_prompts(server: MCPServer[Any]) -> None:
    """Add the prompts to a server."""
    server.prompt(title="Recall before work")(recall)
    server.prompt(title="Reflect after work")(reflect)


async def _prompt(work: Work[str], *, index: bool = True) -> str:
    """Return the text of a prompt; if the memory fails, a text that says so, since the task must go on."""
    try:
        return safe_text(await use(work, index=index), lines=True)
    except (EngramError, OSError) as error:
        return safe_text(f"(The shared memory cannot be used now: {error}. Go on without it.)")
