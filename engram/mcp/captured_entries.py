"""Captured entries in the answer to a query: at most two, after all others, marked as confirmed by nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent

from engram.domain.agents.captured_notes import LEAD, as_lines, heading_of
from engram.domain.agents.framing import QUOTE
from engram.domain.agents.neutralization import neutralize_data
from engram.domain.entry.categories import short_name
from engram.usecases.agents.captured_notes import note_of
from engram.usecases.recall.captured_recall import matching

if TYPE_CHECKING:
    from engram.app import Engram


def with_captured(engram: Engram, result: CallToolResult, question: str) -> CallToolResult:
    """Return the answer, followed by the captured entries that match the question."""
    found = matching(engram.store, question)
    if not found:
        return result
    notes = [note_of(engram.store, lore) for lore in found]
    lines = [LEAD, *(line for note in notes for line in as_lines(note, QUOTE))]
    rows = [
        {"ref": "", "about": f"{short_name(lore.category)} · {heading_of(note)}", "text": lore.content}
        for lore, note in zip(found, notes, strict=True)
    ]
    data = dict(result.structured_content or {})
    data["lore"] = [*data.get("lore", []), *(neutralize_data(row, is_checked=False) for row in rows)]
    data["notes"] = [*data.get("notes", []), LEAD]
    first = result.content[0] if result.content else None
    answer = first.text if isinstance(first, TextContent) else ""
    text = TextContent(type="text", text="\n\n".join([answer, "\n".join(lines)]))
    return CallToolResult(content=[text], structured_content=data)
