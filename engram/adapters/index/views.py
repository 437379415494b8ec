"""The views of a catalog that SQL queries may read: entries and their parts, with stable columns.

The catalog's own tables may change with every version of the index; these columns may not.
"""

from __future__ import annotations

from engram.domain.explore.tables import Column, View

CATALOG = "catalog"
_ID = Column("id", "text", "the entry")
_TIMES = ("created_at", "updated_at", "expires_at")


def _time(column: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%SZ', {column}, 'unixepoch') AS {column}"


_LORE = View(
    "lore",
    "one row for each entry",
    CATALOG,
    (
        Column("id", "text", "its id"),
        Column("title", "text", "its first line"),
        Column("category", "text", "such as FACT"),
        Column("type", "text", "episodic, semantic, procedural or working"),
        Column("status", "text", "active, pending, archived or superseded"),
        Column("confidence", "real", "0 to 1"),
        Column("helpful", "integer", "how often it was found helpful, by all clones"),
        Column("importance", "real", "0 to 1, if set"),
        Column("pinned", "integer", "1: does not decay"),
        Column("agent", "text", "who recorded it"),
        Column("author", "text", "the person who recorded it, as git names them"),
        Column("created_at", "text", "UTC, 2026-03-04T05:06:07Z"),
        Column("updated_at", "text", "UTC"),
        Column("expires_at", "text", "UTC, if it does"),
        Column("length", "integer", "characters of its content"),
        Column("conflicts", "integer", "how many lost versions it holds"),
        Column("path", "text", "its file in the store"),
    ),
    "SELECT id, title, category, type, status, (confidence + 5) / 10 / 100.0 AS confidence, validation_count AS helpful,"  # noqa: S608
    f" importance, pinned, agent, author, {', '.join(map(_time, _TIMES))}, length, conflicts, path, row, files"
    " FROM catalog.files WHERE row IS NOT NULL AND shadowed = 0 AND id NOT IN (SELECT id FROM {waiting})",
)

VIEWS = (
    _LORE,
    View(
        "tags", "one row for each tag of an entry", CATALOG, (_ID, Column("tag", "text", "the tag")),
        "SELECT lore.id, tag FROM catalog.row_tags JOIN {lore} AS lore USING (row)",
    ),
    View(
        "entities", "one row for each entity that an entry names", CATALOG, (_ID, Column("entity", "text", "as it is written")),
        "SELECT lore.id, entity FROM catalog.row_entities JOIN {lore} AS lore USING (row)",
    ),
    View(
        "relations", "one row for each relation of an entry", CATALOG,
        (_ID, Column("kind", "text", "supersedes, contradicts, refines, caused_by or see_also"),
         Column("other", "text", "the id of the other entry")),
        "SELECT lore.id, kind, relation.id AS other FROM catalog.row_relations AS relation JOIN {lore} AS lore USING (row)",
    ),
    View(
        "files", "one row for each file that an entry is about", CATALOG, (_ID, Column("file", "text", "a path in the code")),
        # A list of lines as a JSON array; backslashes are replaced meanwhile, so that `\n` can only be the end of a line.
        "SELECT lore.id, one.value AS file FROM {lore} AS lore, json_each('[' || replace(replace(replace("
        r"json_quote(lore.files), '\\', char(1)), '\n', "
        r"""'","'), char(1), '\\') || ']') AS one WHERE lore.files != ''""",
    ),
)  # fmt: skip
