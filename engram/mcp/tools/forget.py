"""`recall_forget`: deletes lore once a person, or an argument, says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import Elicit, ElicitationResult, Resolve
from mcp_types import CallToolResult
from pydantic import Field

from engram.domain.agents.framing import quote
from engram.mcp import present, results
from engram.mcp.tools.arguments import Call, SomeRefs
from engram.mcp.tools.consent import Agreement, agreement, is_agreed
from engram.mcp.tools.tool import answer, lore_tool, writing

if TYPE_CHECKING:
    from engram.app import Engram


async def _ask_to_forget(
    refs: tuple[str, ...], confirm: bool, ctx: Call
) -> Agreement | Elicit[Agreement] | None:
    def question(engram: Engram) -> str:
        return f"Delete {_describe_entries(engram, refs)} from the shared memory?"

    return await agreement(question, ctx, is_given=confirm)


@lore_tool("Forget lore", writing(destructive=True))
def recall_forget(
    engram: Engram,
    refs: SomeRefs,
    consent: Annotated[ElicitationResult[Agreement], Resolve(_ask_to_forget)],
    confirm: Annotated[bool, Field(description="true once the user agreed")] = False,  # noqa: ARG001 - read by `_ask_to_forget`
) -> Annotated[CallToolResult, results.Forgotten]:
    """Delete lore that must not stay. For what is merely wrong, recall_feedback incorrect is better."""
    if not is_agreed(consent, f"delete {_describe_entries(engram, refs)}", recall_forget.name):
        return answer("Nothing was deleted: the user does not want it.", results.Forgotten(deleted=False))
    return _forget(engram, refs)


def _forget(engram: Engram, refs: Sequence[str]) -> CallToolResult:
    gone = engram.forget(*refs)
    undo = "engram undo" if engram.store.places.owns_branch else ""
    lines = [f"Forgot {one.lore.id}\n{quote(one.lore.title)}" for one in gone]
    lines += [f"`{undo}` brings it back."] if undo else []
    data = results.Forgotten(deleted=True, ids=[one.lore.id for one in gone], undo=undo)
    return answer("\n".join(lines), data)


def _describe_entries(engram: Engram, refs: Sequence[str]) -> str:
    """The entries that are meant, for a question. Raises NotFoundError, AmbiguousError."""
    return present.format_titles([engram.get(name).lore for name in dict.fromkeys(refs)])
