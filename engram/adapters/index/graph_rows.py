"""The catalog's data for the graph of a store: active entries with references, and their targets."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Catalog

_NAMING = (
    "SELECT row FROM row_entities UNION SELECT row FROM row_mentions UNION SELECT row FROM row_relations"
    " UNION SELECT files.row FROM row_relations JOIN files USING (id)"
)
_LORE = (
    "SELECT row, id, title, category, path, text_digest FROM files WHERE row IS NOT NULL AND shadowed = 0"
    " AND status = 'active' AND (expires_at IS NULL OR expires_at > ?)"
)


class LoreRow(NamedTuple):
    """An entry that may be a node: its row, and the fields by which a name may refer to it."""

    row: int
    id: str
    title: str
    category: str
    path: str
    text_digest: str


def naming_lore(catalog: Catalog, now: float) -> list[LoreRow]:
    """Return the active entries that refer to something or are the target of a relation, by id. `now` in Unix seconds."""
    query = f"{_LORE} AND row IN ({_NAMING}) ORDER BY id"
    return [LoreRow._make(line) for line in catalog.connection.execute(query, (now,))]


def all_lore(catalog: Catalog, now: float) -> list[LoreRow]:
    """Return all active entries, by id: the possible targets of wiki links."""
    return [LoreRow._make(line) for line in catalog.connection.execute(f"{_LORE} ORDER BY id", (now,))]


def own_names(catalog: Catalog) -> dict[int, tuple[str, ...]]:
    """Return the names of notes besides titles and paths, by row."""
    found: dict[int, tuple[str, ...]] = {}
    for row, name in catalog.connection.execute("SELECT row, name FROM row_names ORDER BY row, name"):
        found[row] = (*found.get(row, ()), name)
    return found


def names(catalog: Catalog) -> list[tuple[int, str]]:
    """Return row and entity of all names in `entities`, by row."""
    return list(catalog.connection.execute("SELECT row, entity FROM row_entities ORDER BY row, entity"))


def mentions(catalog: Catalog) -> list[tuple[int, str]]:
    """Return row and target of all wiki links, by row."""
    return list(catalog.connection.execute("SELECT row, name FROM row_mentions ORDER BY row, name"))


def relations(catalog: Catalog) -> list[tuple[int, str, str]]:
    """Return row, kind and id of all relations, by row."""
    return list(catalog.connection.execute("SELECT row, kind, id FROM row_relations ORDER BY row, kind, id"))
