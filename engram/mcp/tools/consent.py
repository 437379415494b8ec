"""A person's consent to what cannot simply be undone, or what others will see."""

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
    """A person's answer."""

    agreed: bool = Field(default=True, title="Agreed", description="Do it")


Asking = Agreement | Elicit[Agreement] | None  # what a function that asks returns
Consent = ElicitationResult[Agreement]
Confirm = Annotated[bool, Field(description="true once the user agreed")]


def _can_be_asked(ctx: Call) -> bool:
    """Return whether the client can ask a person."""
    elicitation = ctx.client_capabilities.elicitation if ctx.client_capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def agreement(question: Callable[[Engram], str], ctx: Call, *, is_given: bool) -> Asking:
    """Return the consent if it `is_given` or the question is "", a question if the client can ask a person, else None."""
    if is_given:
        return Agreement()
    if not _can_be_asked(ctx):
        return None
    asked = await use(question)
    return Elicit(asked, Agreement) if asked else Agreement()


def is_agreed(consent: Consent, what: str, tool: str) -> bool:
    """Return whether the person agreed. Raises EngramError, which says `what` would be done, if nobody could be asked."""
    given = consent.data if isinstance(consent, AcceptedElicitation) else Agreement(agreed=False)
    if given is None:
        raise EngramError(
            f"Nothing was changed yet: this would {what}.",
            f"If the user wants that, call {tool} again with confirm=true.",
        )
    return given.agreed
