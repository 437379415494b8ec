"""The set `skills`: find the best procedure for a task, and run its query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from engram.domain.agents.framing import NOTICE, Framed, frame_whole, render
from engram.domain.agents.neutralization import neutralize
from engram.mcp.caller import use
from engram.mcp.tables import Rows, as_rows, neutralize_table
from engram.mcp.tables import as_text as table_text
from engram.mcp.tools.explore import Values
from engram.mcp.tools.scope_arguments import SCOPE
from engram.mcp.tools.tool import answer, by_name, lore_tool, reading

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.agents.skills import Skill

_NONE = "No skill here matches that."


class Found(BaseModel):
    """The best skill: its text, its query if any, its runs so far; `result` or `error` if the query was run."""

    notice: str
    ref: str = ""
    id: str = ""
    content: str = ""
    tier: str = ""
    trust: str = ""
    query: str = ""
    runs: int = 0
    successes: int = 0
    result: Rows | None = None
    error: str = ""


@lore_tool("Recall a skill", reading(), also={"task_description": "task"}, scoping={"scope": SCOPE})
async def recall_skill(
    task: Annotated[str, Field(description="What you want to do")],
    execute: Annotated[bool, Field(description="Run its query, which only reads")] = False,
    parameters: Annotated[Values, Field(description="Values for :name in it")] = {},  # noqa: B006 - pydantic copies it
) -> Annotated[CallToolResult, Found]:
    """Find the best known procedure for a task: a recipe, or a query that can be run at once. Judge it by its ref."""
    from engram.usecases.agents.skills import note_run, run_query

    found = await use(lambda engram: engram.recall_skill(task, waiting=False))
    if found is None:
        return answer(_NONE, Found(notice=_NONE))
    skill = found
    if execute and skill.query:
        skill = await use(
            lambda engram: run_query(engram.store, found, parameters, waiting=False), apart=True
        )
    return await use(lambda engram: _present_skill(engram, note_run(engram.store, skill)))


def _present_skill(engram: Engram, skill: Skill) -> CallToolResult:
    framed = _frame_skill(engram, skill)
    table = None if skill.result is None else neutralize_table(skill.result)
    data = Found(
        notice=NOTICE, ref=framed.ref, id=framed.id, content=framed.content, tier=framed.tier, trust=framed.trust,
        query=neutralize(skill.query, lines=True), runs=skill.record.runs, successes=skill.record.successes,
        result=table and as_rows(table), error=skill.error,
    )  # fmt: skip
    lines = [NOTICE, render(framed), f"Runs here: {data.runs}, of which {data.successes} went well."]
    lines += [table_text(table)] if table else []
    lines += [skill.error] if skill.error else []
    return answer("\n\n".join(lines), data)


def _frame_skill(engram: Engram, skill: Skill) -> Framed:
    from engram.usecases.history.origin import effective_entry
    from engram.usecases.opening.scopes import open_scope_of

    seen = effective_entry(open_scope_of(engram.store, skill.scope), skill.lore)
    return frame_whole([(skill.ref, *seen)], engram.store.clock.now())[0]


TOOLS = by_name(recall_skill)
