"""Tools under other names: the same function, with the arguments that a prompt written for another memory has for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from engram.mcp.tools.schema import compact
from engram.mcp.tools.scope_arguments import SCOPE
from engram.mcp.tools.tool import LoreTool

if TYPE_CHECKING:
    from collections.abc import Mapping


class Alias(NamedTuple):
    """One row of the table: a tool's other name, the tool it is, a few words, and what its arguments are called.

    `shown` are the arguments that a schema lists, by the name that the tool has for each; `also` further spellings of
    these; `defaults` the tool's values where a call gives none; `unused` what the other memory takes and this one
    has no use for; `scoping` what says where lore belongs or who may read it, by kind.
    """

    name: str
    tool: str
    what: str
    shown: Mapping[str, str] = {}
    also: Mapping[str, str] = {}
    defaults: Mapping[str, Any] = {}
    unused: tuple[str, ...] = ()
    scoping: Mapping[str, str] = {}


class AliasTool(LoreTool):
    """A tool under another name. It takes the arguments of the table, and the tool's own besides; errors speak of the former."""

    to: str = Field(exclude=True)
    renames: dict[str, str] = Field(exclude=True)
    defaults: dict[str, Any] = Field(exclude=True)

    @property
    def known(self) -> set[str]:
        """The names of arguments that it takes."""
        return {*self.renames, *self.fn_metadata.arg_model.model_fields}

    def for_function(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments by the names that the function has for them."""
        return {**self.defaults, **{self.renames.get(name, name): value for name, value in given.items()}}

    def own_name(self, argument: str) -> str:
        """What the alias calls an argument of the function."""
        return next((name for name, own in self.renames.items() if own == argument), argument)

    def explain(self, error: ToolError) -> ToolError:
        """The error with the alias's own name."""
        shown = super().explain(error)
        return type(shown)(re.sub(rf"\b{re.escape(self.to)}\b", self.name, str(shown)))


def alias_tool(row: Alias, tool: LoreTool) -> AliasTool:
    """The tool that a row describes. It lists no output schema: its answers are the tool's."""
    return AliasTool(
        fn=tool.fn,
        name=row.name,
        title=None,
        description=row.what,
        parameters=_parameters(row, tool),
        fn_metadata=tool.fn_metadata.model_copy(update={"output_schema": None, "output_model": None}),
        is_async=tool.is_async,
        context_kwarg=tool.context_kwarg,
        resolved_params=tool.resolved_params,
        resolver_plans=tool.resolver_plans,
        annotations=tool.annotations,
        also={**row.also},
        unused=frozenset(row.unused) | tool.unused,
        scoping={**tool.scoping, **_own_scope(tool), **row.scoping},
        to=tool.name,
        renames={**row.shown},
        defaults={**row.defaults},
    )


def _own_scope(tool: LoreTool) -> dict[str, str]:
    """The argument `scope` of a tool that works in any: an alias takes it, too."""
    return {SCOPE: SCOPE} if SCOPE in tool.fn_metadata.arg_model.model_fields else {}


def _parameters(row: Alias, tool: LoreTool) -> dict[str, Any]:
    """The schema of an alias: that of the tool, cut down to what the other memory calls its arguments."""
    known = compact(tool.parameters, words=False)
    required = [
        name
        for name, own in row.shown.items()
        if own in known.get("required", ()) and own not in row.defaults
    ]
    properties = {name: _one(name, known["properties"][own]) for name, own in row.shown.items()}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _one(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of one argument: where the name is that of one thing, of one; any list takes a single text, too."""
    if schema.get("type") != "array":
        return {key: value for key, value in schema.items() if key != "default"}
    return schema if name.endswith("s") else {"type": "string"}
