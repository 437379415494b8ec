"""The core set: the six tools with which an agent recalls, records and judges lore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import Field

from engram.mcp import present, results
from engram.mcp.caller import use
from engram.mcp.tools.arguments import Refs, Share, SomeRefs, Words
from engram.mcp.tools.forget import recall_forget
from engram.mcp.tools.tool import LoreTool, lore_tool, reading, writing

if TYPE_CHECKING:
    from engram.app import Engram


async def recall_query(
    query: Annotated[str, Field(description="What you are about to do, in words")],
    k: Annotated[int, Field(ge=1, le=20)] = 5,
    categories: Words = (),
    tags: Words = (),
    files: Annotated[Words, Field(description="Paths you work on; lore about them ranks higher")] = (),
    min_confidence: Share | None = None,
) -> Annotated[CallToolResult, results.Found]:
    """Recall lore of earlier sessions and other people. Call before you start, and when something surprises you."""

    def work(engram: Engram) -> CallToolResult:
        budget = int(engram.store.settings.number("recall.budget"))
        found = engram.query(query, k, min_confidence, categories, tags=tags, files=files, budget=budget)
        return present.found(engram, found)

    return await use(work)


async def recall_record(
    content: Annotated[
        str, Field(description="Markdown, at most 4000 characters; the first line is the title")
    ],
    category: Annotated[str, Field(description=present.CATEGORIES)],
    context: Annotated[str, Field(description="Where and when it was learned")] = "",
    tags: Words = (),
    files: Annotated[Words, Field(description="Repository paths it is about")] = (),
    confidence: Share | None = None,
    redact: Annotated[bool, Field(description="Mask secrets instead of refusing")] = False,
) -> Annotated[CallToolResult, results.Recorded]:
    """Write down one durable lesson for later sessions: decision, cause, gotcha, outcome. Reports near twins."""

    def work(engram: Engram) -> CallToolResult:
        done = engram.record(
            content, category=category, context=context, tags=tags, files=files, confidence=confidence, redact=redact
        )  # fmt: skip
        return present.recorded(engram, done)

    return await use(work, index=False)


async def recall_feedback(
    helpful: Refs = (), not_relevant: Refs = (), incorrect: Refs = ()
) -> Annotated[CallToolResult, results.Judged]:
    """Judge lore you were shown, by ref (L1), id or its start: it sets what is recalled next time."""

    def work(engram: Engram) -> CallToolResult:
        return present.judged(
            engram.feedback(helpful=helpful, not_relevant=not_relevant, incorrect=incorrect)
        )

    return await use(work)


async def recall_get(refs: SomeRefs) -> Annotated[CallToolResult, results.Whole]:
    """Lore whole, with all fields, by ref (L1), id or its start."""

    return await use(
        lambda engram: present.wholes(engram, [engram.get(name) for name in dict.fromkeys(refs)])
    )


async def recall_status() -> Annotated[CallToolResult, results.Status]:
    """Which store is used, what it holds, whether search and git are well."""
    return await use(lambda engram: present.status(engram.status(thorough=False)))


TOOLS = {
    tool.name: tool
    for tool in (
        lore_tool(recall_query, "Recall lore", reading()),
        lore_tool(recall_record, "Record lore", writing()),
        lore_tool(recall_feedback, "Judge lore", writing(idempotent=True)),
        lore_tool(recall_get, "Read lore", reading()),
        lore_tool(recall_forget, "Forget lore", writing(destructive=True)),
        lore_tool(recall_status, "Memory status", reading()),
    )
}


def tools() -> list[LoreTool]:
    """The tools of this set."""
    return list(TOOLS.values())
