"""The set `curate`: tools that keep a memory in order, and ask a person before what cannot simply be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Resolve
from mcp_types import CallToolResult
from pydantic import Field

from engram.domain.agents.framing import NOTICE
from engram.domain.agents.neutralization import neutralize
from engram.domain.errors import UsageError
from engram.domain.review.review import REJECT
from engram.domain.tuning.evolution import as_tables, verdict
from engram.mcp import curation, present
from engram.mcp.tables import Tables, as_rows, as_text, neutralize_table
from engram.mcp.tools.aliases import Alias, alias_tool
from engram.mcp.tools.arguments import Call, SomeRefs, Words
from engram.mcp.tools.consent import Asking, Confirm, Consent, agreement, is_agreed
from engram.mcp.tools.core import TOOLS as CORE
from engram.mcp.tools.scope_arguments import SCOPE
from engram.mcp.tools.tool import answer, by_name, lore_tool, writing
from engram.operations.edit import EDIT

if TYPE_CHECKING:
    from engram.app import Engram

Kinds = Annotated[Words, Field(description="merge, supersede, archive, promote; none: all")]
Skipped = Annotated[Words, Field(description="Steps by id")]
Name = Annotated[str, Field(description="Ref (L1), id or its start")]
Scope = Annotated[str, Field(description="project, user or a team's")]
ReviewKinds = Annotated[Words, Field(description=", ".join(curation.REVIEWED))]
_OPEN = "project"  # the scope to which an entry of a session may be promoted without consent


async def _ask_to_tidy(dry_run: bool, kinds: Words, skip: Words, confirm: bool, ctx: Call) -> Asking:
    def question(engram: Engram) -> str:
        what = curation.describe_plan(engram.consolidate(kinds=kinds, skip=skip))
        return what and f"Tidy up the shared memory: {what}?"

    return await agreement(question, ctx, is_given=confirm or dry_run)


@lore_tool("Tidy up", writing(destructive=True), scoping={"scope": SCOPE})
def reflect_and_consolidate(
    engram: Engram,
    consent: Annotated[Consent, Resolve(_ask_to_tidy)],
    dry_run: bool = True,
    kinds: Kinds = (),
    skip: Skipped = (),
    confirm: Confirm = False,  # noqa: ARG001 - read by `_ask_to_tidy`
) -> Annotated[CallToolResult, curation.Tidied]:
    """Tidy up: merge what says the same, archive stale lore. Look (dry_run) before you do it."""
    plan = engram.consolidate(kinds=kinds, skip=skip)
    if dry_run or not plan.selected:
        return curation.present_plan(plan)
    if not is_agreed(consent, curation.describe_plan(plan), reflect_and_consolidate.name):
        return curation.present_plan(plan, declined=True)
    return curation.apply_plan(engram, plan)


async def _ask_to_promote(memory_id: SomeRefs, target_scope: str, confirm: bool, ctx: Call) -> Asking:
    def question(engram: Engram) -> str:
        named = present.format_titles([present.get_readable(engram, name).lore for name in memory_id])
        return f"Copy {named} to the scope {target_scope}?"

    return await agreement(question, ctx, is_given=confirm or target_scope == _OPEN)


@lore_tool("Promote lore", writing())
def promote_memory(
    engram: Engram,
    memory_id: SomeRefs,
    consent: Annotated[Consent, Resolve(_ask_to_promote)],
    target_scope: Scope = "user",
    confirm: Confirm = False,  # noqa: ARG001 - read by `_ask_to_promote`
) -> Annotated[CallToolResult, curation.Promotion]:
    """Copy lore to a scope that more people or projects see."""
    shown = [present.get_readable(engram, name) for name in memory_id]
    what = f"copy {present.format_titles([entry.lore for entry in shown])} to the scope {target_scope}"
    if not is_agreed(consent, what, promote_memory.name):
        return answer("Nothing was copied: the user does not want it.", curation.Promotion())
    return curation.present_promotion(engram.promote(*[entry.lore.id for entry in shown], to=target_scope))


@lore_tool(
    "Correct lore",
    writing(destructive=True, idempotent=True),
    EDIT,
    index=False,
    also={"text": "content"},
    unused=("metadata",),
    status={"choices": ("active", "archived", "superseded")},
)
def update_memory(
    engram: Engram, memory_id: Name, **given: Any
) -> Annotated[CallToolResult, curation.Changed]:
    """Correct lore; what is not given stays."""
    from engram.usecases.recording.edit import Edit

    return curation.present_change(
        engram.edit(present.get_readable(engram, memory_id).lore.id, Edit(**given))
    )


@lore_tool("Tag lore", writing(idempotent=True), index=False)
def tag_memory(
    engram: Engram, memory_id: Name, tags: Words = (), remove: Words = ()
) -> Annotated[CallToolResult, curation.Changed]:
    """Add tags to lore, or remove some."""
    from engram.usecases.recording.edit import Edit

    lore_id = present.get_readable(engram, memory_id).lore.id
    return curation.present_change(engram.edit(lore_id, Edit(add_tags=tags, remove_tags=remove)))


async def _ask_to_decide(item: str, decision: str, confirm: bool, ctx: Call) -> Asking:
    def question(engram: Engram) -> str:
        return f"{curation.describe_decision(engram, item, decision).capitalize()}?"

    return await agreement(question, ctx, is_given=confirm or decision != REJECT)


@lore_tool("Review lore", writing(destructive=True))
def review_memories(
    engram: Engram,
    consent: Annotated[Consent, Resolve(_ask_to_decide)],
    item: Annotated[str, Field(description="Decide about this one; none: list them")] = "",
    decision: Annotated[str, Field(description="One that the item allows")] = "",
    kinds: ReviewKinds = (),
    limit: Annotated[int, Field(ge=1, le=20)] = 5,
    confirm: Confirm = False,  # noqa: ARG001 - read by `_ask_to_decide`
) -> Annotated[CallToolResult, curation.Reviewed]:
    """List doubtful lore, the most urgent first, each with its possible decisions; or decide about one."""
    if not item:
        return curation.present_queue(engram, kinds, limit)
    what = curation.describe_decision(engram, item, decision)
    if not is_agreed(consent, what, review_memories.name):
        return answer("Nothing was changed: the user does not want it.", curation.Reviewed())
    return curation.apply_decision(engram, item, decision)


class Evolved(Tables):
    """The verdict and the tables behind it; `file` is the file that was changed."""

    verdict: str
    file: str = ""


@lore_tool("Evolve the ranking", writing(idempotent=False))
def evolve_memory_system(
    engram: Engram, apply: bool = False, revert: bool = False, dry_run: bool | None = None
) -> Annotated[CallToolResult, Evolved]:
    """Show what helped, and ranking settings that judged queries prove better. Apply or revert only if asked to."""
    if dry_run and (apply or revert):
        raise UsageError(
            "A dry run changes nothing, so it neither applies nor reverts.", "Leave one of them out."
        )
    found = engram.evolve(apply=apply or (dry_run is False and not revert), revert=revert)
    safe = [neutralize_table(table) for table in as_tables(found)]
    sentence = neutralize(verdict(found))
    data = Evolved(
        notice=NOTICE,
        tables=[as_rows(table) for table in safe],
        verdict=sentence,
        file=neutralize(found.file),
    )
    return answer("\n\n".join([sentence, NOTICE, *map(as_text, safe)]), data)


_ID = {"memory_id": "refs"}
# Names that agents know from other memories.
_ALIASES = (
    Alias("memory_get", "recall_get", "Show lore in full", _ID),
    Alias("memory_forget", "recall_forget", "Delete lore", {**_ID, "confirm": "confirm"}, unused=("reason",)),
    Alias("memory_status", "recall_status", "Report the state of the memory"),
)
TOOLS = by_name(
    reflect_and_consolidate, promote_memory, update_memory, tag_memory, review_memories, evolve_memory_system,
    *(alias_tool(row, CORE[row.tool]) for row in _ALIASES),
)  # fmt: skip
