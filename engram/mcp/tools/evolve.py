"""The tool with which an agent lets the ranking learn from what was judged; one of the set `curate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult

from engram.domain.agents.framing import NOTICE
from engram.domain.agents.neutralization import neutralize
from engram.domain.errors import UsageError
from engram.domain.tuning.evolution import as_tables, verdict
from engram.mcp.tables import Tables, as_rows, as_text, harmless_table
from engram.mcp.tools.tool import LoreTool, answer, lore_tool, writing

if TYPE_CHECKING:
    from engram.app import Engram


class Evolved(Tables):
    """What came of it, and what it rests on; `file` is what was changed."""

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
    safe = [harmless_table(table) for table in as_tables(found)]
    sentence = neutralize(verdict(found))
    data = Evolved(
        notice=NOTICE,
        tables=[as_rows(table) for table in safe],
        verdict=sentence,
        file=neutralize(found.file),
    )
    return answer("\n\n".join([sentence, NOTICE, *map(as_text, safe)]), data)


def tools() -> list[LoreTool]:
    """The tools of this module."""
    return [evolve_memory_system]
