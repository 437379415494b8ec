"""The core set: the six tools with which an agent recalls, records and judges lore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult

from engram.domain.entry.categories import Categories
from engram.mcp import present, results
from engram.mcp.tools.arguments import SomeRefs
from engram.mcp.tools.forget import recall_forget
from engram.mcp.tools.scope_arguments import SCOPE
from engram.mcp.tools.tool import by_name, lore_tool, reading, writing
from engram.operations.description import TEXT
from engram.operations.feedback import FEEDBACK
from engram.operations.recall import QUERY
from engram.operations.record import RECORD

if TYPE_CHECKING:
    from engram.app import Engram


_SCOPED = {"scope": SCOPE}


@lore_tool(
    "Recall lore",
    reading(),
    QUERY,
    scoping=_SCOPED,
    text={"name": "query"},
    limit={"name": "k", "default": 5, "high": 20},
    scopes={"name": "scope", "type": TEXT, "default": ""},
)
def recall_query(
    engram: Engram, query: str, k: int, **given: Any
) -> Annotated[CallToolResult, results.Found]:
    """Recall lore of earlier sessions and other people. Call before you start, and when something surprises you."""
    budget = int(engram.store.settings.number("recall.budget"))
    scope = given.pop("scope", "")
    answer = present.present_answer(
        engram, engram.query(query, k, **given, scopes=scope or (), budget=budget)
    )
    narrows = scope or any(value for name, value in given.items() if name != "files")
    return answer if narrows else present.with_captured(engram, answer, query)


@lore_tool(
    "Record lore",
    writing(),
    RECORD,
    index=False,
    scoping=_SCOPED,
    category={"usual": Categories().names, "agents": "By default guessed"},
    context={"type": TEXT, "default": ""},
)
def recall_record(engram: Engram, **given: Any) -> Annotated[CallToolResult, results.Recorded]:
    """Write down one durable lesson for later sessions: decision, cause, gotcha, outcome. A known one is confirmed."""
    return present.present_recorded(engram, engram.record(**given))


@lore_tool("Judge lore", writing(idempotent=True), FEEDBACK, scoping=_SCOPED)
def recall_feedback(engram: Engram, **given: Any) -> Annotated[CallToolResult, results.Judged]:
    """Judge lore you were shown, by ref (L1), id or its start: it sets what is recalled next time."""
    return present.present_feedback(engram.feedback(**given))


@lore_tool("Read lore", reading())
def recall_get(engram: Engram, refs: SomeRefs) -> Annotated[CallToolResult, results.Whole]:
    """Show lore in full, with all fields, by ref (L1), id or its start."""
    return present.wholes(engram, [engram.get(name) for name in dict.fromkeys(refs)])


@lore_tool("Memory status", reading())
def recall_status(engram: Engram) -> Annotated[CallToolResult, results.Status]:
    """Report which store is used, what it holds, and whether search and git work."""
    return present.status(engram.status(thorough=False))


TOOLS = by_name(recall_query, recall_record, recall_feedback, recall_get, recall_forget, recall_status)
