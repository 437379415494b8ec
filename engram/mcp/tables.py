"""Tables as agents see them: with neutralized cells, as quoted lines and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult
from pydantic import BaseModel

from engram.domain.agents.framing import NOTICE, QUOTE
from engram.domain.agents.neutralization import neutralize_data
from engram.domain.explore.tables import Table, as_lines
from engram.mcp.tools.tool import answer

if TYPE_CHECKING:
    from collections.abc import Sequence


_MORE = "There are more rows: filter, group, or LIMIT and OFFSET."


class Rows(BaseModel):
    """A table; `truncated` if there were more rows."""

    name: str
    columns: list[str]
    rows: list[list[Any]] = []
    truncated: bool = False


class Tables(BaseModel):
    """The tables of an answer."""

    notice: str
    tables: list[Rows]


def present_tables(tables: Sequence[Table]) -> CallToolResult:
    """Present tables."""
    safe = [neutralize_table(table) for table in tables]
    data = Tables(notice=NOTICE, tables=[as_rows(table) for table in safe])
    return answer("\n\n".join([NOTICE, *map(as_text, safe)]), data)


def neutralize_table(table: Table) -> Table:
    """Neutralize every text of a table, since nobody has checked it."""
    columns, *rows = [
        tuple(neutralize_data(cell, is_checked=False) for cell in row) for row in (table.columns, *table.rows)
    ]
    return table._replace(columns=tuple(map(str, columns)), rows=tuple(rows))  # type: ignore[arg-type]


def as_rows(table: Table) -> Rows:
    """Return a neutralized table as data."""
    rows = [list(row) for row in table.rows]
    return Rows(name=table.name, columns=list(table.columns), rows=rows, truncated=table.truncated)


def as_text(table: Table) -> str:
    """Return a neutralized table as quoted lines."""
    more = [_MORE] if table.truncated else []
    lines = "\n".join(f"{QUOTE}{line}".rstrip() for line in as_lines(table))
    count = len(table.rows)
    return "\n".join([f"{table.name} · {count} row{'s' * (count != 1)}", lines, *more])
