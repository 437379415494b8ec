"""What the catalog keeps of a lore beside its line: the tokens of its text, and the lore that it names.

Both serve the second look that ranking takes at the best rows.
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from engram.domain.lore import Lore

SCHEMA = """
CREATE TABLE row_tokens (row INTEGER PRIMARY KEY, tokens BLOB NOT NULL, check_number INTEGER NOT NULL);
CREATE TABLE row_links (row INTEGER, id TEXT NOT NULL, PRIMARY KEY (row, id)) WITHOUT ROWID;
"""
INDEXES = "CREATE INDEX IF NOT EXISTS row_links_id ON row_links (id);"
# A lore that replaces or denies another does not speak for it.
HELPING = ("see_also", "refines", "caused_by")
_PART = 400


class Link(NamedTuple):
    """A row, and a lore that it names or is named by: that one's id, row and status."""

    row: int
    id: str
    other: int
    status: str


def links(lore: Lore | None) -> list[str]:
    """The ids of the lore that a lore names as belonging to it, each once, in order."""
    if lore is None or not lore.relations:
        return []
    return sorted({relation.id for relation in lore.relations if relation.kind in HELPING})


def put_tokens(connection: sqlite3.Connection, first: int, tokens: Sequence[bytes]) -> None:
    """Keep the tokens of rows from `first` on."""
    import zlib  # only writing needs it

    rows = [(row, said, zlib.crc32(said)) for row, said in enumerate(tokens, first)]
    connection.executemany("INSERT OR REPLACE INTO row_tokens VALUES (?, ?, ?)", rows)


def drop_tokens(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Forget the tokens of rows."""
    connection.executemany("DELETE FROM row_tokens WHERE row = ?", [(row,) for row in rows])


def tokens(connection: sqlite3.Connection, rows: Sequence[int]) -> dict[int, bytes]:
    """The tokens of these rows, as far as there are any."""
    found: dict[int, bytes] = {}
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        query = f"SELECT row, tokens FROM row_tokens WHERE row IN ({','.join('?' * len(part))})"  # noqa: S608
        found.update(connection.execute(query, part))
    return found


def has_links(connection: sqlite3.Connection) -> bool:
    """Whether any lore names another."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM row_links)").fetchone()[0])


def linked(connection: sqlite3.Connection, rows: Sequence[int]) -> list[Link]:
    """Each of these rows with each lore that it names or is named by, by row and id."""
    found: set[tuple[int, str, int, str]] = set()
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        marks = ",".join("?" * len(part))
        found.update(connection.execute(_NAMED.format(marks), part))
        found.update(connection.execute(_NAMING.format(marks), part))
    return [Link._make(link) for link in sorted(found)]


_NAMED = (
    "SELECT row_links.row, named.id, named.row, named.status FROM row_links JOIN files AS named USING (id)"
    " WHERE row_links.row IN ({}) AND named.row IS NOT NULL AND named.shadowed = 0"
)
_NAMING = (
    "SELECT named.row, naming.id, naming.row, naming.status"
    " FROM files AS named JOIN row_links ON row_links.id = named.id JOIN files AS naming ON naming.row = row_links.row"
    " WHERE named.row IN ({}) AND naming.shadowed = 0"
)


def damaged(connection: sqlite3.Connection) -> list[str]:
    """The rows whose tokens are not as they were written, or belong to no lore."""
    import zlib

    query = (
        "SELECT row, tokens, check_number, EXISTS (SELECT 1 FROM files WHERE files.row = row_tokens.row)"
        " FROM row_tokens"
    )
    return [
        f"the tokens of row {row}"
        for row, said, expected, known in connection.execute(query)
        if not known or zlib.crc32(said) != expected
    ]
