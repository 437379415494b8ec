"""An integrity check of a catalog: its pages, each line by its check number, and the tables of details."""

from __future__ import annotations

from engram.adapters.index import row_details
from engram.adapters.index.catalog import COLUMNS, line_check
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_ROW = COLUMNS.index("row")


def find_damage(connection: sqlite3.Connection) -> list[str]:
    """Return the differences from what was written, in structure and contents; reads everything. Raises sqlite3.Error."""
    result = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if result != "ok":
        return [str(result)]
    tags = _read_by_row(connection, "SELECT row, tag FROM row_tags")
    names = _read_by_row(connection, row_details.NAMES)
    lines = connection.execute(f"SELECT {', '.join(COLUMNS)}, line_check FROM files")  # noqa: S608
    wrong = [
        f"the line of {line[0]}"
        for line in lines
        if line_check(line[:-1], tags.pop(line[_ROW], []), names.pop(line[_ROW], [])) != line[-1]
    ]
    wrong += [f"the tags of row {row}" for row in tags] + [f"the names of row {row}" for row in names]
    for table, column in (("row_tokens", "tokens"), ("delta", "terms")):
        wrong += row_details.find_damage(connection, table, column)
    query = (
        "SELECT path FROM files AS f WHERE shadowed != (path > (SELECT min(path) FROM files WHERE id = f.id))"
    )
    return wrong + [f"the line of {path}" for (path,) in connection.execute(query)]


def _read_by_row(connection: sqlite3.Connection, query: str) -> dict[int | None, list[str]]:
    found: dict[int | None, list[str]] = {}
    for row, text in connection.execute(query):
        found.setdefault(row, []).append(text)
    return found
