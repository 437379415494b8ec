"""The record of connected agents: the files that were changed for them, and the contents before."""

from __future__ import annotations

import json

from engram.adapters.agents.servers import SERVER_NAME
from engram.adapters.files import places
from engram.adapters.files.durable import atomic
from engram.adapters.files.foreign import foreign_files
from engram.domain.errors import EngramError
from engram.domain.typed import NamedTuple


class Connection(NamedTuple):
    """A changed file. Digests are of its bytes; "" for a file that did not exist. `backup` holds the bytes before.

    `exact` says that those bytes contain nothing of Engram's. `server` is the name that the MCP server got, `made` the
    uppermost folder that was created for the file ("": none).
    """

    before: str
    after: str
    backup: str
    exact: bool
    agents: tuple[str, ...]
    server: str = SERVER_NAME
    made: str = ""


def load() -> dict[str, Connection]:
    """Read the changed files by path; empty if the record is lost."""
    try:
        raw = foreign_files.read(places.connections_file())
        found = json.loads(raw or b"{}")
        return {
            str(path): Connection(**{**facts, "agents": tuple(facts["agents"])})
            for path, facts in found.items()
        }
    except (EngramError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def save(known: dict[str, Connection]) -> None:
    """Write the record. Raises StoreError."""
    facts = {path: one._asdict() for path, one in sorted(known.items())}
    content = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    atomic.write(places.connections_file(), content.encode(), "connections")


def original_bytes(known: Connection | None) -> bytes | None:
    """Return the bytes of a file before it was connected; None if there was no file, or they are lost."""
    if known is None or not known.before:
        return None
    try:
        raw = foreign_files.read(known.backup)
    except EngramError:
        return None
    return raw if raw is not None and atomic.digest(raw) == known.before else None
