"""The tool sets of the server. A set is a module here with TOOLS, by name; each costs an agent context."""

from __future__ import annotations

from importlib import import_module

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.mcp.tools.tool import LoreTool

CORE, COMPAT, ALL = "core", "compat", "all"
SETS = {
    CORE: "engram.mcp.tools.core",
    "explore": "engram.mcp.tools.explore",
    "skills": "engram.mcp.tools.skills",
    "curate": "engram.mcp.tools.curate",
    COMPAT: "engram.mcp.tools.compat",
    "graph": "engram.mcp.tools.graph",
    "team": "engram.mcp.tools.team",
}


def choose_sets(given: str) -> tuple[str, ...]:
    """Return the names in a list like `core,explore`, each once. Raises UsageError.

    `all` means every set but `compat`, which repeats them under other names; `compat:mem0` only the names of that memory.
    """
    names = [name.strip().lower() for name in given.split(",") if name.strip()]
    unknown = [name for name in names if not _is_known(name)]
    if unknown or not names:
        what = f"There is no tool set '{unknown[0]}'." if unknown else "No tool set was named."
        if unknown and unknown[0].startswith(f"{COMPAT}:"):
            raise UsageError(what, f"Memories: {', '.join(import_module(SETS[COMPAT]).memories())}.")
        raise UsageError(what, f"Tool sets: {', '.join([*SETS, ALL])}; several are separated by commas.")
    every = [name for name in SETS if name != COMPAT] if ALL in names else []
    return tuple(dict.fromkeys([*every, *[name for name in names if name != ALL]]))


def tools_of(names: tuple[str, ...]) -> list[LoreTool]:
    """Return the tools of these sets, in their order, each name once."""
    found: dict[str, LoreTool] = {}
    for name in names:
        module, _, key = name.partition(":")
        chosen = import_module(SETS[module])
        for tool in chosen.tools(key) if module == COMPAT else chosen.TOOLS.values():
            found.setdefault(tool.name, tool)
    return list(found.values())


def _is_known(name: str) -> bool:
    module, _, key = name.partition(":")
    if not key:
        return name in (*SETS, ALL)
    return module == COMPAT and key in import_module(SETS[COMPAT]).memories()
