"""`recall_forget`: deletes lore once a person, or an argument, says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from engram.domain.errors import EngramError
from engram.domain.framing import quoted
from engram.mcp import present, results
from engram.mcp.caller import use
from engram.mcp.tools.arguments import Call, SomeRefs
from engram.mcp.tools.consent import can_be_asked
from engram.mcp.tools.tool import answer

if TYPE_CHECKING:
    from engram.app import Engram


class Consent(BaseModel):
    """What a person is asked for."""

    delete: bool = Field(default=True, title="Delete", description="Delete this lore")


async def ask(refs: tuple[str, ...], confirm: bool, ctx: Call) -> Consent | Elicit[Consent] | None:
    """The consent: an argument's, a person's where the client can ask one, else none."""
    if confirm:
        return Consent()
    if not can_be_asked(ctx):
        return None
    named = await use(lambda engram: _named(engram, refs))
    return Elicit(f"Delete {named} from the shared memory?", Consent)


async def recall_forget(
    refs: SomeRefs,
    consent: Annotated[ElicitationResult[Consent], Resolve(ask)],
    confirm: Annotated[bool, Field(description="true once the user agreed")] = False,  # noqa: ARG001 - read by `ask`
) -> Annotated[CallToolResult, results.Forgotten]:
    """Delete lore that must not stay. For what is merely wrong, recall_feedback incorrect is better."""
    given = consent.data if isinstance(consent, AcceptedElicitation) else Consent(delete=False)

    def work(engram: Engram) -> CallToolResult:
        if given is None:
            raise EngramError(
                f"Nothing was deleted yet: this would delete {_named(engram, refs)}.",
                "If the user wants that, call recall_forget again with confirm=true.",
            )
        if not given.delete:
            return answer("Nothing was deleted: the user does not want it.", results.Forgotten(deleted=False))
        return _forget(engram, refs)

    return await use(work)


def _forget(engram: Engram, refs: Sequence[str]) -> CallToolResult:
    from engram.usecases.store import DEDICATED

    gone = engram.forget(*refs)
    undo = "engram undo" if engram.store.places.placement == DEDICATED else ""
    lines = [f"Forgot {one.lore.id}\n{quoted(one.lore.title)}" for one in gone]
    lines += [f"`{undo}` brings it back."] if undo else []
    data = results.Forgotten(deleted=True, ids=[one.lore.id for one in gone], undo=undo)
    return answer("\n".join(lines), data)


def _named(engram: Engram, refs: Sequence[str]) -> str:
    """The lore that are meant, for a question. Raises NotFoundError, AmbiguousError."""
    return present.named([engram.get(name).lore for name in dict.fromkeys(refs)])
