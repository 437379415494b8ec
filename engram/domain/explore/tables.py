"""What questions about a whole memory are answered with: small tables, and what a table that can be asked looks like."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    Cell = str | int | float | None


class Table(NamedTuple):
    """Rows under names of columns; `truncated` says that there were more."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False

    def as_dict(self) -> dict[str, object]:
        """The table as JSON."""
        rows = [list(row) for row in self.rows]
        return {"name": self.name, "columns": list(self.columns), "rows": rows, "truncated": self.truncated}


class Column(NamedTuple):
    """A column that can be asked: `type` is text, integer or real."""

    name: str
    type: str
    what: str


class View(NamedTuple):
    """A table that SQL may read. `database` holds what it is made of.

    `select` gives its columns, and may give more for the views after it; in it `{lore}` is the view of that name with
    all of those, and `{waiting}` the table of the ids that are kept back.
    """

    name: str
    what: str
    database: str
    columns: tuple[Column, ...]
    select: str


class Limits(NamedTuple):
    """How much a question may take: rows and characters of the answer, seconds of time, megabytes of memory."""

    rows: int = 50
    characters: int = 20_000
    seconds: float = 2.0
    megabytes: int = 100


def as_lines(table: Table) -> list[str]:
    """The table as text: names of columns, then a line for each row, cells parted by ` | `."""
    return [" | ".join(table.columns), *(" | ".join(map(said, row)) for row in table.rows)]


def said(cell: Cell) -> str:
    """A cell in one line."""
    return "" if cell is None else " ".join(str(cell).split())
