"""Tables as an agent gets them: harmless cells, as quoted lines and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult
from pydantic import BaseModel

from engram.domain.framing import NOTICE, harmless_data, quoted
from engram.domain.tables import as_lines
from engram.mcp.tools.tool import answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.tables import Table

_MORE = "There are more rows: filter, group, or LIMIT and OFFSET."


class Rows(BaseModel):
    """A table; `truncated` says that there were more rows."""

    name: str
    columns: list[str]
    rows: list[list[Any]] = []
    truncated: bool = False


class Tables(BaseModel):
    """What was asked for, as tables."""

    notice: str = NOTICE
    tables: list[Rows]


def shown(tables: Sequence[Table]) -> CallToolResult:
    """The answer of a tool that gives tables."""
    safe = [as_rows(table) for table in tables]
    return answer("\n\n".join([NOTICE, *map(as_text, tables)]), Tables(notice=NOTICE, tables=safe))


def as_rows(table: Table) -> Rows:
    """The table as data; nobody here stands in for the texts in it."""
    safe = [[harmless_data(cell, is_checked=False) for cell in row] for row in (table.columns, *table.rows)]
    columns = [str(name) for name in safe[0]]
    return Rows(name=table.name, columns=columns, rows=safe[1:], truncated=table.truncated)


def as_text(table: Table) -> str:
    """The table as lines behind quote marks."""
    more = [_MORE] if table.truncated else []
    return "\n".join([f"{table.name} · {len(table.rows)} rows", quoted("\n".join(as_lines(table))), *more])
