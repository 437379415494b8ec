"""What a person is asked before something is done that cannot simply be taken back, or that others will see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult
from pydantic import BaseModel, Field

from engram.domain.errors import EngramError
from engram.mcp.caller import use
from engram.mcp.tools.arguments import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.app import Engram


class Agreement(BaseModel):
    """What a person answers."""

    agreed: bool = Field(default=True, title="Agreed", description="Do it")


Asking = Agreement | Elicit[Agreement] | None  # what a function that asks comes to
Consent = ElicitationResult[Agreement]
Confirm = Annotated[bool, Field(description="true once the user agreed")]


def _can_be_asked(ctx: Call) -> bool:
    """Whether the client can put a question to a person."""
    elicitation = ctx.client_capabilities.elicitation if ctx.client_capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def agreement(question: Callable[[Engram], str], ctx: Call, *, is_given: bool) -> Asking:
    """The consent: an argument's, a person's where the client can ask one (a question of "" needs none), else None."""
    if is_given:
        return Agreement()
    if not _can_be_asked(ctx):
        return None
    asked = await use(question)
    return Elicit(asked, Agreement) if asked else Agreement()


def is_agreed(consent: Consent, what: str, tool: str) -> bool:
    """Whether it may be done. Raises EngramError that says what would be done, where nobody could be asked."""
    given = consent.data if isinstance(consent, AcceptedElicitation) else Agreement(agreed=False)
    if given is None:
        raise EngramError(
            f"Nothing was changed yet: this would {what}.",
            f"If the user wants that, call {tool} again with confirm=true.",
        )
    return given.agreed
