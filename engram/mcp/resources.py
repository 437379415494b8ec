"""Resources: an entry by its id, the newest ones, and what this session was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from engram.domain.agents.framing import NOTICE
from engram.domain.agents.neutralization import neutralize
from engram.domain.entry.lore import ACTIVE
from engram.domain.errors import EngramError, NotFoundError
from engram.domain.text.safe_text import safe_text
from engram.mcp import present
from engram.mcp.caller import use

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.mcp.caller import Work

MARKDOWN = "text/markdown"
_RECENT = 20


async def entry(id: str) -> str:  # noqa: A002 - the name in the template
    """One entry whole; by id, the start of an id, or session ref."""
    return await _read(lambda engram: f"{NOTICE}\n\n{present.whole_text(engram.get(id), engram)}\n")


async def recent() -> str:
    """The lore recorded last, a line each."""

    def work(engram: Engram) -> str:
        from engram.usecases.store.quarantine import is_quarantined

        listing = engram.list(limit=_RECENT, status=ACTIVE)
        newest = [shown.lore for shown in listing.lore if not is_quarantined(engram.store, shown.lore)]
        rows = [_format_line(lore.id, lore.title, lore.category) for lore in newest]
        return "\n".join([f"{NOTICE}\nThe newest of {listing.total:,}:", *rows]) + "\n"

    return await _read(work)


async def session() -> str:
    """The lore that this session was shown, with its refs."""

    def work(engram: Engram) -> str:
        rows = [_format_line(ref.name, ref.title, ref.id) for ref in session_refs(engram)]
        return "\n".join([NOTICE, *rows] if rows else ["This session was not shown any lore yet."]) + "\n"

    return await _read(work, index=False)


def add_resources(server: MCPServer[Any]) -> None:
    """Add the resources to a server."""
    server.resource("lore://recent", name="recent", title="Newest lore", mime_type=MARKDOWN)(recent)
    server.resource("lore://session", name="session", title="Lore of this session", mime_type=MARKDOWN)(
        session
    )
    server.resource("lore://{id}", name="lore", title="One entry", mime_type=MARKDOWN)(entry)


def session_refs(engram: Engram) -> list[Any]:
    """Return the refs of the calling session, in order."""
    return engram.store.session_state.refs(engram.store.caller.session)


async def _read(work: Work[str], *, index: bool = True) -> str:
    """Call `use`, and raise its errors as ResourceError or ResourceNotFoundError."""
    try:
        return await use(work, index=index)
    except NotFoundError as error:
        raise ResourceNotFoundError(safe_text(f"{error.message} {error.hint}")) from error
    except (EngramError, OSError) as error:
        raise ResourceError(safe_text(str(error))) from error


def _format_line(name: str, title: str, more: str) -> str:
    return neutralize(f"> {name} · {title} · {more}", is_checked=False)
