"""The name of Engram's MCP server in an agent's configuration, where another program may use the same name."""

from __future__ import annotations

import re
from itertools import chain, count

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVER_NAME = "engram"
AGENT_VARIABLE = "ENGRAM_AGENT"
_OTHER_NAME = "engram-lore"
_NUMBERED = re.compile(rf"{_OTHER_NAME}-\d+")
_MODULE = ["-m", "engram", "mcp"]
_PORTABLE = ["engram", "mcp"]


def choose_name(servers: Mapping[str, object], recorded: str = "") -> str:
    """Return the name of the entry that connecting wrote; if there is none, the first free name.

    `servers` has all entries by name; `recorded` is the name used by an earlier connection ("" for none).
    """
    numbered = [name for name in servers if _NUMBERED.fullmatch(name)]
    for name in filter(None, (recorded, SERVER_NAME, _OTHER_NAME, *numbered)):
        if is_ours(servers.get(name), recorded=name == recorded):
            return name
    further = (f"{_OTHER_NAME}-{number}" for number in count(2))
    free = chain([recorded] if recorded else [], [SERVER_NAME, _OTHER_NAME], further)
    return next(name for name in free if name not in servers)


def is_ours(server: object, *, recorded: bool = False) -> bool:
    """Return whether connecting wrote an entry, which may have been changed by hand since.

    Such an entry runs this module with `-P`, or with the agent's name in the environment; in a project, and from an
    environment of `uvx`, it ends in `engram mcp` and has the agent's name. For a `recorded` entry the agent's name is
    enough. `engram mcp` alone may also be another program's.
    """
    if not isinstance(server, dict):
        return False
    environments = [server.get(key) for key in ("env", "envs", "environment")]
    named = any(isinstance(one, dict) and AGENT_VARIABLE in one for one in environments)
    words = [word for key in ("command", "args") for word in _words(server.get(key))]
    if words[-2:] == _PORTABLE and named:
        return True
    at = next((at for at in range(len(words)) if words[at : at + 3] == _MODULE), None)
    return named and recorded if at is None else named or "-P" in words[:at]


def _words(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)] if value else []
