"""Texts whose vectors are still missing: in the catalog a mark replaces the check number of their vectors."""

from __future__ import annotations

from engram.adapters.index import row_details
from engram.adapters.index.catalog import COLUMNS, line_check
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.index.catalog import Catalog

WAITING = -1
_ROW = COLUMNS.index("row")
_CHECK = COLUMNS.index("vector_check")


class Waiting(NamedTuple):
    """A text without vectors: its row, its file, and the digest of the text."""

    row: int
    path: str
    text_digest: str


def waiting(catalog: Catalog, after: int, most: int) -> list[Waiting]:
    """Return the first such texts beyond row `after`."""
    query = "SELECT row, path, text_digest FROM files WHERE vector_check = ? AND row > ? ORDER BY row LIMIT ?"
    return [Waiting._make(line) for line in catalog.connection.execute(query, (WAITING, after, most))]


def count_waiting(catalog: Catalog) -> int:
    """Count such texts."""
    query = "SELECT count(*) FROM files WHERE vector_check = ?"
    return int(catalog.connection.execute(query, (WAITING,)).fetchone()[0])


def set_vector_checks(catalog: Catalog, checks: Mapping[int, int]) -> None:
    """Set the check numbers of vectors, by row, in otherwise unchanged lines."""
    rows = list(checks)
    tags, named = dict[int, list[str]](), dict[int, list[str]]()
    for row, tag in catalog.where_in("SELECT row, tag FROM row_tags", "row", rows):
        tags.setdefault(row, []).append(tag)
    for row, other in catalog.where_in(row_details.NAMES, "row", rows):
        named.setdefault(row, []).append(other)
    query = f"SELECT {', '.join(COLUMNS)} FROM files"  # noqa: S608
    for line in list(catalog.where_in(query, "row", rows)):
        row = line[_ROW]
        values = (*line[:_CHECK], checks[row], *line[_CHECK + 1 :])
        update = "UPDATE files SET vector_check = ?, line_check = ? WHERE row = ?"
        check = line_check(values, tags.get(row, ()), named.get(row, ()))
        catalog.connection.execute(update, (checks[row], check, row))
