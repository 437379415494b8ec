"""Details of an entry beside its line in the catalog: the tokens of its text, and the lore, entities and links it names.

Tokens and links serve the reranking of the best rows.
"""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from engram.domain.entry.lore import Lore
    from engram.domain.entry.note_markup import NoteMarkup

# `row_links` omits some relations: an entry that supersedes or contradicts another does not support it.
SCHEMA = """
CREATE TABLE row_tokens (row INTEGER PRIMARY KEY, tokens BLOB NOT NULL, check_number INTEGER NOT NULL);
CREATE TABLE row_relations (row INTEGER, kind TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (row, kind, id)) WITHOUT ROWID;
CREATE TABLE row_entities (row INTEGER, entity TEXT NOT NULL, PRIMARY KEY (row, entity)) WITHOUT ROWID;
CREATE TABLE row_merged (row INTEGER, id TEXT NOT NULL, PRIMARY KEY (row, id)) WITHOUT ROWID;
CREATE TABLE row_mentions (row INTEGER, name TEXT NOT NULL, PRIMARY KEY (row, name)) WITHOUT ROWID;
CREATE TABLE row_names (row INTEGER, name TEXT NOT NULL, PRIMARY KEY (row, name)) WITHOUT ROWID;
CREATE TABLE ranks (node TEXT PRIMARY KEY, importance REAL NOT NULL) WITHOUT ROWID;
CREATE VIEW row_links AS SELECT row, id FROM row_relations WHERE kind IN ('see_also', 'refines', 'caused_by');
"""
INDEXES = """
CREATE INDEX IF NOT EXISTS row_relations_id ON row_relations (id);
CREATE INDEX IF NOT EXISTS row_merged_id ON row_merged (id);
"""
TABLES = ("row_tags", "row_merged", "row_relations", "row_entities", "row_mentions", "row_names")
# The names that `line_check` covers, in the form of `names`.
NAMES = (
    "SELECT row, name FROM (SELECT row, kind || ' ' || id AS name FROM row_relations"
    " UNION ALL SELECT row, 'entity ' || entity FROM row_entities"
    " UNION ALL SELECT row, 'mention ' || name FROM row_mentions"
    " UNION ALL SELECT row, 'name ' || name FROM row_names)"
)
_BATCH = 400
_LINK_START = "[["


class Link(NamedTuple):
    """A row, and an entry related to it in either direction: its id, row and status."""

    row: int
    id: str
    other: int
    status: str


def names(lore: Lore | None, markup: NoteMarkup | None = None) -> list[str]:
    """Return the entries, entities and wiki links that an entry names, each once, as the kind of relation and the name.

    For a note with `markup`, also its own names.
    """
    if lore is None or not (lore.relations or lore.entities or _LINK_START in lore.content or markup):
        return []
    found = [f"{kind} {other}" for kind, other in lore.relations]
    found += [f"entity {entity}" for entity in lore.entities]
    found += [f"name {name}" for name in (markup.names if markup else ())]
    return sorted({*found, *(f"mention {name}" for name in mentions(lore, markup))})


def mentions(lore: Lore, markup: NoteMarkup | None = None) -> Sequence[str]:
    """Return the targets of the wiki links of an entry, each once."""
    if markup is not None:
        return markup.links
    if _LINK_START not in lore.content:
        return []
    from engram.domain.entry.text_links import text_links  # few entries have any

    return sorted({link.target for link in text_links(lore.content) if link.is_wiki})


def put_names(
    connection: sqlite3.Connection,
    lore: Sequence[tuple[int | None, Lore | None]],
    markup: Mapping[int | None, NoteMarkup],
) -> None:
    """Store the names in the entries of these rows; `markup` is that of notes, by row."""
    entries = [(row, entry) for row, entry in lore if entry is not None]
    relations = [(row, *relation) for row, entry in entries for relation in entry.relations]
    connection.executemany("INSERT OR IGNORE INTO row_relations VALUES (?, ?, ?)", relations)
    entities = [(row, entity) for row, entry in entries for entity in entry.entities]
    connection.executemany("INSERT OR IGNORE INTO row_entities VALUES (?, ?)", entities)
    merged = [(row, other) for row, entry in entries for other in entry.merged_from]
    connection.executemany("INSERT OR IGNORE INTO row_merged VALUES (?, ?)", merged)
    links = [(row, name) for row, entry in entries for name in mentions(entry, markup.get(row))]
    connection.executemany("INSERT OR IGNORE INTO row_mentions VALUES (?, ?)", links)
    own_names = [(row, name) for row, note in markup.items() for name in note.names]
    connection.executemany("INSERT OR IGNORE INTO row_names VALUES (?, ?)", own_names)


def put_tokens(connection: sqlite3.Connection, first: int, tokens: Sequence[bytes]) -> None:
    """Store the tokens of rows from `first` on."""
    import zlib  # needed only for writing

    rows = [(row, packed, zlib.crc32(packed)) for row, packed in enumerate(tokens, first)]
    connection.executemany("INSERT OR REPLACE INTO row_tokens VALUES (?, ?, ?)", rows)


def drop_tokens(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Delete the tokens of rows."""
    connection.executemany("DELETE FROM row_tokens WHERE row = ?", [(row,) for row in rows])


def tokens(connection: sqlite3.Connection, rows: Sequence[int]) -> dict[int, bytes]:
    """Return the tokens of those of these rows that have any."""
    found: dict[int, bytes] = {}
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        query = f"SELECT row, tokens FROM row_tokens WHERE row IN ({','.join('?' * len(part))})"  # noqa: S608
        found.update(connection.execute(query, part))
    return found


def has_links(connection: sqlite3.Connection) -> bool:
    """Return whether any entry is related to another."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM row_links)").fetchone()[0])


def read_links(connection: sqlite3.Connection, rows: Sequence[int]) -> list[Link]:
    """Return links between each of these rows and each entry related to it in either direction, by row and id."""
    found: set[tuple[int, str, int, str]] = set()
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
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


def find_damage(connection: sqlite3.Connection, table: str, column: str) -> list[str]:
    """Return the rows of a table whose bytes in a column differ from what was written, or that belong to no entry."""
    import zlib

    query = f"SELECT row, {column}, check_number, row IN (SELECT row FROM files) FROM {table}"  # noqa: S608 - fixed names
    return [
        f"the {column} of row {row}"
        for row, packed, expected, known in connection.execute(query)
        if not known or zlib.crc32(packed) != expected
    ]
