"""The tool sets of the server by name. A set is a module here with `tools()`; an agent pays for each in context."""

from __future__ import annotations

from importlib import import_module

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.mcp.tools.tool import LoreTool

CORE, ALL = "core", "all"
SETS = {
    CORE: "engram.mcp.tools.core",
    "explore": "engram.mcp.tools.explore",
    "skills": "engram.mcp.tools.skills",
    "curate": "engram.mcp.tools.evolve",
}


def chosen_sets(spoken: str) -> tuple[str, ...]:
    """The names in a list like `core,explore`, each once; `all` means every set. Raises UsageError."""
    names = [name.strip().lower() for name in spoken.split(",") if name.strip()]
    unknown = [name for name in names if name not in SETS and name != ALL]
    if unknown or not names:
        what = f"There is no tool set '{unknown[0]}'." if unknown else "No tool set was named."
        raise UsageError(what, f"Tool sets: {', '.join([*SETS, ALL])}; several are separated by commas.")
    return tuple(SETS) if ALL in names else tuple(dict.fromkeys(names))


def tools_of(names: tuple[str, ...]) -> list[LoreTool]:
    """The tools of these sets, in their order."""
    found: list[LoreTool] = []
    for name in names:
        found += import_module(SETS[name]).tools()
    return found
