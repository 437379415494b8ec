"""Completions: the categories, tags, refs and ids that an argument may begin to name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
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
from engram.mcp.resources import shown_to

if TYPE_CHECKING:
    from engram.app import Engram

_MOST = 100  # as the protocol allows
_RECENT = 50


async def complete(
    reference: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,  # noqa: ARG001 - the SDK's signature
) -> Completion | None:
    """The values that `argument` may become; none for arguments that are free text."""
    known = _LORE if isinstance(reference, ResourceTemplateReference) else _KNOWN.get(argument.name)
    if known is None:
        return None
    try:
        found = await use(lambda engram: known(engram, argument.value), index=known is not categories)
    except (EngramError, OSError):
        return None
    values = [safe_text(value) for value in found]
    return Completion(values=values[:_MOST], total=len(values), has_more=len(values) > _MOST)


def categories(engram: Engram, begun: str) -> list[str]:
    """The store's categories that begin so, `-` and `_` alike."""
    wanted = begun.upper().replace("-", "_")
    return [name for name in engram.store.categories.names if name.startswith(wanted)]


def tags(engram: Engram, begun: str) -> list[str]:
    """The store's tags that begin so, the most used first."""
    return engram.tags(begun, _MOST + 1)


def lore(engram: Engram, begun: str) -> list[str]:
    """Session refs, then ids of lore that were shown or are new, that begin so."""
    shown = shown_to(engram)
    newest = [one.lore.id for one in engram.list(limit=_RECENT).lore]
    names = [ref.name for ref in shown] + [ref.id for ref in shown] + newest
    return [name for name in dict.fromkeys(names) if name.startswith(begun.upper())]


_LORE = lore
_KNOWN = {"category": categories, "tag": tags, "ref": lore}


def add_completions(server: MCPServer[Any]) -> None:
    """Give a server its completions."""
    server.completion()(complete)  # type: ignore[no-untyped-call]
