"""Types of tool arguments that several tools share."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import BeforeValidator, Field

MOST_REFS = 20

Call = Context[Any, Any]


def _listed(value: object) -> object:
    """A list, also where a model sends the one word bare."""
    return [value] if isinstance(value, str) else value


_Many = tuple[str, ...]
Words = Annotated[_Many, BeforeValidator(_listed)]
# The limits stand next to the type: behind the validator they would be said to be of a string.
Refs = Annotated[_Many, Field(max_length=MOST_REFS), BeforeValidator(_listed)]
SomeRefs = Annotated[_Many, Field(min_length=1, max_length=MOST_REFS), BeforeValidator(_listed)]
Share = Annotated[float, Field(ge=0, le=1)]
