"""A tool of the server: its schemas kept short, and every error a sentence that says what to do."""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from engram.domain.errors import EngramError
from engram.domain.text.safe_text import safe_text
from engram.mcp.caller import use
from engram.mcp.tools.arguments import signature
from engram.mcp.tools.schema import compact
from engram.mcp.tools.scope_arguments import SCOPE as _SCOPE
from engram.mcp.tools.scope_arguments import Asked, scope_of, unusual_arguments
from engram.operations.description import MCP, Operation

LONGEST_ERROR = 1200
_SPOKEN = (
    ("pass --redact", "pass redact=true"),
    ("; --again counts it once more", ""),
    ("`engram explore --depth 2`", "engram_explore depth=2"),
    ("`engram review` lists", "review_memories lists"),
    ("; with none, your editor opens at a terminal", ""),
)


class LoreTool(Tool):
    """A tool whose arguments, folders and errors are looked after.

    `also` are further spellings of its arguments; `unused` arguments that are taken and do nothing, which the answer says;
    `scoping` those that say where lore belongs, by kind (see `engram.mcp.tools.scope_arguments`).
    """

    also: dict[str, str] = Field(default={}, exclude=True)
    unused: frozenset[str] = Field(default=frozenset(), exclude=True)
    scoping: dict[str, str] = Field(default={}, exclude=True)

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Run it. Raises ToolError with a sentence for the agent, whatever went wrong inside."""
        given = {self.also.get(name, name): value for name, value in arguments.items()}
        unused = [name for name in given if name in self.unused]
        wanted = unusual_arguments(given, self.scoping, reads=self.only_reads)
        passed = self.unused | self.scoping.keys()
        given = {name: value for name, value in given.items() if name not in passed}
        self._refuse_unknown(given)
        try:
            if wanted:
                given |= await self._scope(wanted)
            result = await super().run(self.for_function(given), context, convert_result)
        except ToolError as error:
            raise self.explain(error) from error.__cause__
        return _with_unused(result, unused) if unused and isinstance(result, CallToolResult) else result

    @property
    def only_reads(self) -> bool:
        """Whether it promises not to change lore."""
        return self.annotations is not None and bool(self.annotations.read_only_hint)

    async def _scope(self, wanted: list[Asked]) -> dict[str, Any]:
        """The argument `scope` for what these ask. Raises ToolError where it cannot be honoured."""
        takes = _SCOPE in self.fn_metadata.arg_model.model_fields
        try:
            scope = await use(
                lambda engram: scope_of(engram, self.name, wanted, takes_scope=takes), index=False
            )
        except EngramError as error:
            raise ToolError(str(error)) from error
        return {_SCOPE: scope} if scope else {}

    def for_function(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments by the names that the function has for them."""
        return given

    def own_name(self, argument: str) -> str:
        """What the tool calls an argument of the function."""
        return argument

    @property
    def known(self) -> set[str]:
        """The names of arguments that it takes."""
        return set(self.parameters.get("properties", {}))

    def _refuse_unknown(self, arguments: dict[str, Any]) -> None:
        unknown = [name for name in arguments if name not in self.known]
        if unknown:
            raise ToolError(_cut(f"{self.name} has no argument '{unknown[0]}'. {self._arguments()}"))

    def _arguments(self) -> str:
        required = self.parameters.get("required", ())
        names = [f"{name} (required)" if name in required else name for name in self.parameters["properties"]]
        return f"Arguments: {', '.join(names)}."

    def explain(self, error: ToolError) -> ToolError:
        """The error as the agent gets it."""
        cause = error.__cause__
        if isinstance(cause, EngramError):
            return ToolError(_cut(_for_agents(f"{cause.message} {cause.hint}")))
        if isinstance(cause, ValidationError):
            return ToolError(_cut(f"{self._describe_errors(cause)} {self._arguments()}"))
        if isinstance(cause, ToolError):
            return ToolError(_cut(str(cause)))
        if isinstance(cause, OSError):
            return ToolError(
                _cut(f"{_of_the_system(cause)}. Carry on without Engram, or run `engram doctor`.")
            )
        what = f"{type(cause).__name__}: {cause}" if cause else str(error)
        return UnexpectedToolError(_cut(f"An error that should not happen: {what}. Please report it."))

    def _describe_errors(self, error: ValidationError) -> str:
        """What is wrong with which argument, without the values: they may be long."""
        reasons = []
        for one in error.errors()[:5]:
            name, *inside = one["loc"] or ("arguments",)
            where = ".".join(map(str, [self.own_name(str(name)), *inside]))
            reasons.append(f"{where}: {one['msg'][:200]}.")
        return " ".join(reasons)


def lore_tool(
    title: str,
    annotations: ToolAnnotations,
    operation: Operation | None = None,
    *,
    index: bool = True,
    also: dict[str, str] | None = None,
    unused: Iterable[str] = (),
    scoping: dict[str, str] | None = None,
    **changes: dict[str, Any],
) -> Callable[[Callable[..., Any]], LoreTool]:
    """Make a function a tool; its docstring is what an agent reads. For `also`, `unused` and `scoping` see `LoreTool`.

    It works on the open store, its first argument, in a thread; for `index` see `Memory.run`. In place of its `**given`
    a tool takes the arguments that MCP offers of the operation, and `changes` say by parameter what is different for
    agents. An async function gets no store and runs as it is.
    """

    def make(function: Callable[..., Any]) -> LoreTool:
        async def run(**arguments: Any) -> Any:
            return await use(lambda engram: function(engram, **arguments), index=index)

        own = signature(function, operation.offered(MCP, **changes) if operation else ())
        called: Any = function if inspect.iscoroutinefunction(function) else run
        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__signature__ = own
        called.__annotations__ = {name: one.annotation for name, one in own.parameters.items()}
        description = " ".join((function.__doc__ or "").split())
        made = LoreTool.from_function(called, title=title, annotations=annotations, description=description)
        assert isinstance(made, LoreTool)
        made.also, made.unused, made.scoping = also or {}, frozenset(unused), scoping or {}
        made.parameters = compact(made.parameters)
        if made.fn_metadata.output_schema is not None:
            made.fn_metadata.output_schema = compact(made.fn_metadata.output_schema, words=False)
        return made

    return make


def by_name(*tools: LoreTool) -> dict[str, LoreTool]:
    """Return tools by their names, in their order."""
    return {tool.name: tool for tool in tools}


def answer(text: str, data: BaseModel) -> CallToolResult:
    """A result as text and as data. Each says everything: clients show their model one of the two."""
    structured = _harmless(data.model_dump(mode="json", exclude_defaults=True))
    content = TextContent(type="text", text=safe_text(text, lines=True))
    return CallToolResult(content=[content], structured_content=structured)


def reading() -> ToolAnnotations:
    """What a tool promises that does not change lore."""
    return ToolAnnotations(read_only_hint=True, open_world_hint=False)


def writing(*, destructive: bool = False, idempotent: bool | None = None) -> ToolAnnotations:
    """What a tool promises that changes lore; what the protocol assumes anyway is left out."""
    return ToolAnnotations(destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False)


def _harmless(value: Any) -> Any:
    """Data in which every text is safe on a screen."""
    if isinstance(value, str):
        return safe_text(value, lines=True)
    if isinstance(value, dict):
        return {safe_text(key): _harmless(one) for key, one in value.items()}
    return [_harmless(one) for one in value] if isinstance(value, list) else value


def _with_unused(result: CallToolResult, names: Sequence[str]) -> CallToolResult:
    """The answer, which says that these arguments did nothing."""
    first, *more = result.content
    note = f"Not used here: {safe_text(', '.join(names))}."
    assert isinstance(first, TextContent)
    content = [TextContent(type="text", text=f"{first.text}\n\n{note}"), *more]
    data = {**(result.structured_content or {}), "not_used": [safe_text(name) for name in names]}
    return result.model_copy(update={"content": content, "structured_content": data})


def _of_the_system(error: OSError) -> str:
    name = errno.errorcode.get(error.errno or 0, type(error).__name__)
    where = f": {os.path.basename(str(error.filename))}" if error.filename else ""
    return f"The system refused: {error.strerror or name}{where}"


def _for_agents(text: str) -> str:
    """A sentence in which options of the command line are arguments of a tool."""
    for option, argument in _SPOKEN:
        text = text.replace(option, argument)
    return text


def _cut(text: str) -> str:
    line = safe_text(text).strip()
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 1] + "…"
