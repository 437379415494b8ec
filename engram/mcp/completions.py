"""Completions of arguments: categories, tags, refs and ids."""

from __future__ import annotations

from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from engram.domain.errors import EngramError
from engram.domain.text.safe_text import safe_text
from engram.mcp.caller import use
from engram.operations.description import CATEGORY, REF, TAG
from engram.operations.values import values

_MOST = 100  # the limit of the protocol
_KINDS = (CATEGORY, TAG, REF)


async def complete(
    reference: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,  # noqa: ARG001 - the SDK's signature
) -> Completion | None:
    """Complete an argument; None for free text."""
    kind = REF if isinstance(reference, ResourceTemplateReference) else argument.name
    if kind not in _KINDS:
        return None
    try:
        known = await use(lambda engram: values(engram.store, kind, argument.value), index=kind != CATEGORY)
    except (EngramError, OSError):
        return None
    found = [safe_text(value) for value in known]
    return Completion(values=found[:_MOST], total=len(found), has_more=len(found) > _MOST)
