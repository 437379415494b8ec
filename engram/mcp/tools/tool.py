"""Tools of the server: short schemas, and errors as sentences that say what to do."""

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
from engram.domain.text.drawing import cut
from engram.domain.text.safe_text import safe_text
from engram.mcp.caller import use
from engram.mcp.tools.arguments import make_signature
from engram.mcp.tools.schema import compact
from engram.mcp.tools.scope_arguments import SCOPE as _SCOPE
from engram.mcp.tools.scope_arguments import ScopeArgument, collect_unusual, scope_of
from engram.operations.description import MCP, Operation

LONGEST_ERROR = 1200
_FOR_AGENTS = (  # phrases of the command line, and what agents read instead
    ("pass --redact", "pass redact=true"),
    ("; --again counts it once more", ""),
    ("`engram explore --depth 2`", "engram_explore depth=2"),
    ("`engram review` lists", "review_memories lists"),
    ("; with none, your editor opens at a terminal", ""),
)


class LoreTool(Tool):
    """A tool that checks its arguments strictly and explains its errors.

    `also` are further spellings of its arguments; `unused` are arguments that are accepted and ignored, as the answer says;
    `scoping` are those that say where lore belongs, by kind (see `engram.mcp.tools.scope_arguments`).
    """

    also: dict[str, str] = Field(default={}, exclude=True)
    unused: frozenset[str] = Field(default=frozenset(), exclude=True)
    scoping: dict[str, str] = Field(default={}, exclude=True)

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Run the tool. Raises ToolError with a sentence for the agent for any error."""
        given = {self.also.get(name, name): value for name, value in arguments.items()}
        unused = [name for name in given if name in self.unused]
        wanted = collect_unusual(given, self.scoping, reads=self.only_reads)
        handled = self.unused | self.scoping.keys()
        given = {name: value for name, value in given.items() if name not in handled}
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

    async def _scope(self, wanted: list[ScopeArgument]) -> dict[str, Any]:
        """Return the argument `scope` for these arguments. Raises ToolError if one cannot be honoured."""
        takes = _SCOPE in self.fn_metadata.arg_model.model_fields
        try:
            scope = await use(
                lambda engram: scope_of(engram, self.name, wanted, takes_scope=takes), index=False
            )
        except EngramError as error:
            raise ToolError(str(error)) from error
        return {_SCOPE: scope} if scope else {}

    def for_function(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments under the names that the function has for them."""
        return given

    def own_name(self, argument: str) -> str:
        """Return the tool's name for an argument of the function."""
        return argument

    @property
    def known(self) -> set[str]:
        """The names of the arguments that it takes."""
        return set(self.parameters.get("properties", {}))

    def _refuse_unknown(self, arguments: dict[str, Any]) -> None:
        unknown = [name for name in arguments if name not in self.known]
        if unknown:
            raise ToolError(_shorten(f"{self.name} has no argument '{unknown[0]}'. {self._list_arguments()}"))

    def _list_arguments(self) -> str:
        required = self.parameters.get("required", ())
        names = [f"{name} (required)" if name in required else name for name in self.parameters["properties"]]
        return f"Arguments: {', '.join(names)}."

    def explain(self, error: ToolError) -> ToolError:
        """Return an error as the agent gets it: a sentence and a hint."""
        cause = error.__cause__
        if isinstance(cause, EngramError):
            text = f"{cause.message} {cause.hint}"
            for phrase, replacement in _FOR_AGENTS:
                text = text.replace(phrase, replacement)
        elif isinstance(cause, ValidationError):
            text = f"{self._describe_errors(cause)} {self._list_arguments()}"
        elif isinstance(cause, ToolError):
            text = str(cause)
        elif isinstance(cause, OSError):
            text = f"{_describe_os_error(cause)}. Carry on without Engram, or run `engram doctor`."
        else:
            what = f"{type(cause).__name__}: {cause}" if cause else str(error)
            return UnexpectedToolError(_shorten(f"Internal error: {what}. Please report it."))
        return ToolError(_shorten(text))

    def _describe_errors(self, error: ValidationError) -> str:
        """Describe the wrong arguments, without their values, which may be long."""
        reasons = []
        for found in error.errors()[:5]:
            name, *inside = found["loc"] or ("arguments",)
            where = ".".join(map(str, [self.own_name(str(name)), *inside]))
            reasons.append(f"{where}: {found['msg'][:200]}.")
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
    """Make a function a tool; its docstring is the description. For `also`, `unused` and `scoping` see `LoreTool`.

    The function gets the open store as its first argument and runs in a thread; for `index` see `Memory.run`. Its
    `**given` stands for the parameters of the operation that MCP offers, with `changes` by parameter. An async function
    gets no store and runs as it is.
    """

    def make(function: Callable[..., Any]) -> LoreTool:
        async def run(**arguments: Any) -> Any:
            return await use(lambda engram: function(engram, **arguments), index=index)

        own = make_signature(function, operation.offered(MCP, **changes) if operation else ())
        called: Any = function if inspect.iscoroutinefunction(function) else run
        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__signature__ = own
        called.__annotations__ = {name: parameter.annotation for name, parameter in own.parameters.items()}
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
    """Return tools by name, in their order."""
    return {tool.name: tool for tool in tools}


def answer(text: str, data: BaseModel) -> CallToolResult:
    """Return a result as text and as data. Both are complete, since clients show their model only one of them."""
    structured = _make_safe(data.model_dump(mode="json", exclude_defaults=True))
    content = TextContent(type="text", text=safe_text(text, lines=True))
    return CallToolResult(content=[content], structured_content=structured)


def reading() -> ToolAnnotations:
    """Return the annotations of a tool that does not change lore."""
    return ToolAnnotations(read_only_hint=True, open_world_hint=False)


def writing(*, destructive: bool = False, idempotent: bool | None = None) -> ToolAnnotations:
    """Return the annotations of a tool that changes lore, without the defaults of the protocol."""
    return ToolAnnotations(destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False)


def _make_safe(value: Any) -> Any:
    """Apply `safe_text` to every text in JSON data."""
    if isinstance(value, str):
        return safe_text(value, lines=True)
    if isinstance(value, dict):
        return {safe_text(key): _make_safe(item) for key, item in value.items()}
    return [_make_safe(item) for item in value] if isinstance(value, list) else value


def _with_unused(result: CallToolResult, names: Sequence[str]) -> CallToolResult:
    """Add to an answer that these arguments were ignored."""
    first, *more = result.content
    note = f"Not used here: {safe_text(', '.join(names))}."
    assert isinstance(first, TextContent)
    content = [TextContent(type="text", text=f"{first.text}\n\n{note}"), *more]
    data = {**(result.structured_content or {}), "not_used": [safe_text(name) for name in names]}
    return result.model_copy(update={"content": content, "structured_content": data})


def _describe_os_error(error: OSError) -> str:
    name = errno.errorcode.get(error.errno or 0, type(error).__name__)
    where = f": {os.path.basename(str(error.filename))}" if error.filename else ""
    return f"The system refused: {error.strerror or name}{where}"


def _shorten(text: str) -> str:
    return cut(safe_text(text).strip(), LONGEST_ERROR)
