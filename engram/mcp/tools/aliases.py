"""Tools under other names: the same functions, with the arguments that prompts written for other memories use."""

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
    """A row of the table: another name of a tool, the tool, a description, and the names of its arguments.

    `shown` maps the arguments in the schema to those of the tool; `also` maps further spellings to them; `defaults` are
    values of the tool's arguments; `unused` are arguments that are accepted and ignored; `scoping` are those that say
    where lore belongs or who may read it, by kind.
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
    """A tool under another name. It takes the arguments of the table and the tool's own; errors use the former names."""

    to: str = Field(exclude=True)
    renames: dict[str, str] = Field(exclude=True)
    defaults: dict[str, Any] = Field(exclude=True)

    @property
    def known(self) -> set[str]:
        """The names of the arguments that it takes."""
        return {*self.renames, *self.fn_metadata.arg_model.model_fields}

    def for_function(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments under the names that the function has for them."""
        return {**self.defaults, **{self.renames.get(name, name): value for name, value in given.items()}}

    def own_name(self, argument: str) -> str:
        """Return the alias's name for an argument of the function."""
        return next((name for name, own in self.renames.items() if own == argument), argument)

    def explain(self, error: ToolError) -> ToolError:
        """Explain an error under the alias's name."""
        explained = super().explain(error)
        return type(explained)(re.sub(rf"\b{re.escape(self.to)}\b", self.name, str(explained)))


def alias_tool(row: Alias, tool: LoreTool) -> AliasTool:
    """Make the tool of a row. It has no output schema, since its answers are the tool's."""
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
    """Return the argument `scope` of a tool that has one: its aliases take it, too."""
    return {SCOPE: SCOPE} if SCOPE in tool.fn_metadata.arg_model.model_fields else {}


def _parameters(row: Alias, tool: LoreTool) -> dict[str, Any]:
    """Return the schema of an alias: that of the tool, reduced to the arguments of the row."""
    known = compact(tool.parameters, words=False)
    required = [
        name
        for name, own in row.shown.items()
        if own in known.get("required", ()) and own not in row.defaults
    ]
    properties = {name: _argument(name, known["properties"][own]) for name, own in row.shown.items()}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _argument(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument; a list with a singular name becomes a text, since lists accept one, too."""
    if schema.get("type") != "array":
        return {key: value for key, value in schema.items() if key != "default"}
    return schema if name.endswith("s") else {"type": "string"}
