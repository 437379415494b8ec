"""Under which name an agent has, or would have, Engram's MCP server: a server of that name may be the user's own."""

from __future__ import annotations

from engram.adapters.agents import edits
from engram.adapters.agents.parts import server_part
from engram.adapters.agents.refusal import CannotEditError
from engram.adapters.agents.servers import SERVER_NAME, chosen_name
from engram.adapters.files.foreign import foreign_files
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.agents.hosts import Host
    from engram.adapters.agents.parts import Wish
    from engram.usecases.agents.connections import Connection


def named(host: Host, wanted: Wish, known: Mapping[str, Connection]) -> Wish:
    """What is wanted, with the name of the entry that connecting wrote, or else of the one that it would write."""
    part = server_part(host, wanted)
    if part is None:
        return wanted
    return wanted._replace(server=chosen_name(_servers(host, wanted), _recorded(host, part.path, known)))


def note(host: Host, wanted: Wish) -> str:
    """The sentences that a server named `engram` is the user's own; "" where there is none, or Engram's has that name.

    `wanted` comes from `named`.
    """
    if wanted.server == SERVER_NAME or SERVER_NAME not in _servers(host, wanted):
        return ""
    part = server_part(host, wanted)
    assert part is not None
    return f"{part.path} has an MCP server named {SERVER_NAME} that `engram connect` did not write. It is left alone."


def _servers(host: Host, wanted: Wish) -> Mapping[str, object]:
    """The agent's MCP servers by name; none where its file cannot be read, which is refused when it is edited."""
    part = server_part(host, wanted)
    try:
        raw = None if part is None else foreign_files.read(part.path)
        return {} if part is None or raw is None else edits.siblings(raw.decode("utf-8"), part.edit)
    except (CannotEditError, EngramError, UnicodeDecodeError):
        return {}


def _recorded(host: Host, path: str, known: Mapping[str, Connection]) -> str:
    one = known.get(path)
    return one.server if one is not None and host.name in one.agents else ""
