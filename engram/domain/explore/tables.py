"""Small result tables, and descriptions of the views that SQL can query."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    Cell = str | int | float | None


class Table(NamedTuple):
    """Rows with column names; `truncated` says that there were more."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return the table as JSON."""
        rows = [list(row) for row in self.rows]
        return {"name": self.name, "columns": list(self.columns), "rows": rows, "truncated": self.truncated}


class Column(NamedTuple):
    """A column of a view: `type` is text, integer or real."""

    name: str
    type: str
    what: str


class View(NamedTuple):
    """A view that SQL may read, defined on `database`.

    `select` returns its columns, and may return more for use in later views; `{lore}` in it stands for the view of that
    name with all its columns, `{waiting}` for the table of hidden ids.
    """

    name: str
    what: str
    database: str
    columns: tuple[Column, ...]
    select: str


class Limits(NamedTuple):
    """Limits of a query: rows and characters of the result, seconds, megabytes of memory."""

    rows: int = 50
    characters: int = 20_000
    seconds: float = 2.0
    megabytes: int = 100


def as_lines(table: Table) -> list[str]:
    """Format the table as text: column names, then a line per row, cells separated by ` | `."""
    return [" | ".join(table.columns), *(" | ".join(map(format_cell, row)) for row in table.rows)]


def format_cell(cell: Cell) -> str:
    """Format a cell on one line."""
    return "" if cell is None else " ".join(str(cell).split())
