"""The set `core`: six tools to recall, record and judge lore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Resolve
from mcp_types import CallToolResult

from engram.domain.agents.framing import quote
from engram.domain.entry.categories import Categories
from engram.mcp import present, results
from engram.mcp.tools.arguments import Call, SomeRefs
from engram.mcp.tools.consent import Asking, Confirm, Consent, agreement, is_agreed
from engram.mcp.tools.scope_arguments import SCOPE
from engram.mcp.tools.tool import answer, by_name, lore_tool, reading, writing
from engram.operations.description import TEXT
from engram.operations.feedback import FEEDBACK
from engram.operations.recall import QUERY
from engram.operations.record import RECORD

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    found = engram.query(query, k, **given, scopes=scope or (), budget=budget)
    shown = present.present_answer(engram, found)
    narrows = scope or any(value for name, value in given.items() if name != "files")
    return shown if narrows else present.add_captured(engram, shown, query)


@lore_tool(
    "Record lore",
    writing(),
    RECORD,
    index=False,
    scoping=_SCOPED,
    category={"suggested": Categories().names, "agent_help": "By default guessed"},
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
    return present.present_whole(engram, [engram.get(name) for name in dict.fromkeys(refs)])


async def _ask_to_forget(refs: tuple[str, ...], confirm: bool, ctx: Call) -> Asking:
    def question(engram: Engram) -> str:
        return f"Delete {_describe_entries(engram, refs)} from the shared memory?"

    return await agreement(question, ctx, is_given=confirm)


@lore_tool("Forget lore", writing(destructive=True))
def recall_forget(
    engram: Engram,
    refs: SomeRefs,
    consent: Annotated[Consent, Resolve(_ask_to_forget)],
    confirm: Confirm = False,  # noqa: ARG001 - read by `_ask_to_forget`
) -> Annotated[CallToolResult, results.Forgotten]:
    """Delete lore that must not stay. For what is merely wrong, recall_feedback incorrect is better."""
    if not is_agreed(consent, f"delete {_describe_entries(engram, refs)}", recall_forget.name):
        return answer("Nothing was deleted: the user does not want it.", results.Forgotten(deleted=False))
    return _forget(engram, refs)


def _forget(engram: Engram, refs: Sequence[str]) -> CallToolResult:
    deleted = engram.forget(*refs)
    undo = "engram undo" if engram.store.places.owns_branch else ""
    lines = [f"Forgot {entry.lore.id}\n{quote(entry.lore.title)}" for entry in deleted]
    lines += [f"`{undo}` brings it back."] if undo else []
    data = results.Forgotten(deleted=True, ids=[entry.lore.id for entry in deleted], undo=undo)
    return answer("\n".join(lines), data)


def _describe_entries(engram: Engram, refs: Sequence[str]) -> str:
    """List entries by title, for a question. Raises NotFoundError, AmbiguousError."""
    return present.format_titles([engram.get(name).lore for name in dict.fromkeys(refs)])


@lore_tool("Memory status", reading())
def recall_status(engram: Engram) -> Annotated[CallToolResult, results.Status]:
    """Report which store is used, what it holds, and whether search and git work."""
    return present.present_status(engram.status(thorough=False))


TOOLS = by_name(recall_query, recall_record, recall_feedback, recall_get, recall_forget, recall_status)
