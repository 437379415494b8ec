"""The catalog: a SQLite table of the files seen, with the columns that lists, filters and freshness checks need.

Every change of the index writes it last, so everything it lists is complete.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sqlite3
from functools import partial

from engram.adapters.index import delta, row_details
from engram.adapters.index.damage import is_refused
from engram.domain.entry.categories import SEMANTIC
from engram.domain.entry.confidence import DECAY_LOSS, DECAY_MONTH
from engram.domain.entry.lore import words_mark
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from engram.adapters.index.row_details import Link
    from engram.domain.entry.lore import Lore
    from engram.domain.entry.note_markup import NoteMarkup

FORMAT = 19

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE folders (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    digest TEXT NOT NULL, seen_ns INTEGER NOT NULL,
    error TEXT, line INTEGER, hint TEXT,
    id TEXT, row INTEGER, text_digest TEXT, vector_check INTEGER, shadowed INTEGER NOT NULL DEFAULT 0,
    adopted INTEGER, title TEXT, category TEXT, type TEXT, status TEXT, confidence INTEGER,
    validation_count INTEGER, last_validated REAL, created_at REAL, updated_at REAL, expires_at REAL,
    agent TEXT, author TEXT, source_id TEXT, importance REAL, pinned INTEGER, length INTEGER, files TEXT, "when" TEXT,
    conflicts INTEGER, full INTEGER, anchor INTEGER, accounts INTEGER, believed INTEGER, modest INTEGER,
    words_mark INTEGER, line_check INTEGER NOT NULL
);
CREATE TABLE row_tags (row INTEGER, tag TEXT NOT NULL, PRIMARY KEY (row, tag)) WITHOUT ROWID;
CREATE VIEW tags AS SELECT tag, path, row FROM row_tags JOIN files USING (row);
"""
# Created after a rebuild has written all lines: updating them line by line takes a third of its SQLite time.
_INDEXES = """
CREATE UNIQUE INDEX IF NOT EXISTS files_row ON files (row) WHERE row IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_id ON files (id, path) WHERE id IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_created ON files (created_at) WHERE row IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_words_mark ON files (words_mark) WHERE words_mark IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_conflicts ON files (path) WHERE conflicts > 0;
CREATE INDEX IF NOT EXISTS files_when ON files (path) WHERE "when" != '';
CREATE INDEX IF NOT EXISTS files_error ON files (path) WHERE error IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_shadowed ON files (path) WHERE shadowed > 0;
CREATE INDEX IF NOT EXISTS files_standing ON files (category, status, adopted, conflicts)
    WHERE row IS NOT NULL AND shadowed = 0;
CREATE INDEX IF NOT EXISTS row_tags_tag ON row_tags (tag);
"""

COLUMNS = (
    "path", "mtime_ns", "size", "inode", "digest", "seen_ns", "error", "line", "hint", "id", "row", "text_digest",
    "vector_check", "adopted", "title", "category", "type", "status", "confidence", "validation_count",
    "last_validated", "created_at", "updated_at", "expires_at", "agent", "author", "source_id", "importance", "pinned",
    "length", "files", '"when"', "conflicts", "full", "anchor", "accounts",
    "believed", "modest", "words_mark",
)  # fmt: skip
_SEEN = (
    6  # the number of first columns, about when and how a file was seen: they can change without its bytes
)
_ROW = COLUMNS.index("row")
_CONFIDENCE, _FULL = COLUMNS.index("confidence"), COLUMNS.index("full")
_CHECK = COLUMNS.index("vector_check")
_DELETE_DETAILS = [
    f"DELETE FROM {table} WHERE row IN (SELECT row FROM files WHERE path = ?)"  # noqa: S608
    for table in row_details.TABLES
]
_INSERT = (
    f"INSERT OR REPLACE INTO files ({', '.join(COLUMNS)}, line_check)"  # noqa: S608
    f" VALUES ({', '.join('?' * len(COLUMNS))}, ?)"
)


class Problem(NamedTuple):
    """The reason why a file is not recalled: its path, the line (0: unknown), a message and a hint."""

    path: str
    line: int
    message: str
    hint: str


class Entry(NamedTuple):
    """The state of one file: its stamp (mtime in ns, bytes, inode), digest, when it was seen (ns), and lore or problem.

    Anything but a regular file has the reason in place of a digest. `row` is the number of its text in the word index and
    the vectors; `text_digest` shows whether that text changed. `markup` is that of a note in place, or with aliases.
    """

    path: str
    stamp: tuple[int, int, int]
    digest: str
    seen_ns: int
    lore: Lore | None = None
    adopted: bool = True
    problem: Problem | None = None
    row: int | None = None
    text_digest: str = ""
    vector_check: int = 0
    markup: NoteMarkup | None = None

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags by which the entry is found."""
        own = self.lore.tags if self.lore is not None else ()
        return own if self.markup is None else (*own, *self.markup.tags)


class Known(NamedTuple):
    """The catalog's knowledge of a file: stamp, digest, when it was seen, its row, whether it has an id."""

    stamp: tuple[int, int, int]
    digest: str
    seen_ns: int
    row: int | None
    text_digest: str
    vector_check: int
    adopted: bool


class Text(NamedTuple):
    """The columns for comparing entries; `digest` is that of the file, `text_digest` that of its text."""

    id: str
    path: str
    category: str
    row: int
    digest: str
    text_digest: str


class Hit(NamedTuple):
    """The catalog line of an entry, with the columns for ranking, filters and lists. Times are Unix seconds.

    `full` is the confidence before decay, `anchor` the day from which decay counts, `believed` and `modest` are those of a
    `Tally`, None if they equal `full`.
    """

    row: int
    path: str
    id: str
    title: str
    category: str
    type: str
    status: str
    confidence: int
    validation_count: int
    last_validated: float | None
    created_at: float
    updated_at: float
    expires_at: float | None
    agent: str
    author: str
    importance: float | None
    pinned: int
    length: int
    files: str
    mtime_ns: int
    size: int
    inode: int
    vector_check: int
    text_digest: str
    source_id: str | None
    full: int | None
    anchor: int | None
    believed: int | None
    modest: int | None
    conflicts: int
    when: str


_HIT = ", ".join(f'"{name}"' for name in Hit._fields)
# `_make` without the check of the length: four times as fast
_hit, _text = partial(tuple.__new__, Hit), partial(tuple.__new__, Text)


class Catalog:
    """The catalog of one generation. Not locked: the index owns it and decides who writes."""

    def __init__(self, path: str, *, create: bool = False) -> None:
        """Open (or create) the database at `path`; read-only if nothing can be written beside it.

        Raises sqlite3.Error if it is damaged.
        """
        self.path = path
        self._opened = 0
        self._open(create=create)
        if create:
            # A write-ahead log would write everything twice, and an incomplete catalog is thrown away.
            self.connection.execute("PRAGMA journal_mode=MEMORY")
            self.connection.executescript(_SCHEMA + row_details.SCHEMA + delta.SCHEMA)

    def _open(self, *, create: bool = False) -> None:
        """Connect to the database, without SQLite's files beside it if the system refuses them.

        `immutable` disables locks, which is safe while the disk is full or the folder read-only: nobody writes then.
        """
        self.connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=10.0
        )
        self._frozen = 0
        try:
            self.connection.execute("PRAGMA synchronous=OFF" if create else "PRAGMA synchronous=NORMAL")
        except sqlite3.OperationalError as error:
            log = self.path + "-wal"
            if create or not is_refused(error) or (os.path.exists(log) and os.path.getsize(log)):
                raise
            self.connection.close()
            uri = file_uri(self.path, "immutable=1")
            self.connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            self._frozen = os.stat(self.path).st_mtime_ns

    def add_indexes(self) -> None:
        """Create the indexes for columns other than the path; a new catalog gets them with its first commit."""
        for statement in (_INDEXES + row_details.INDEXES).split(";"):
            self.connection.execute(statement)

    def share(self) -> None:
        """Let other processes read while one writes; for a new catalog, once it is complete."""
        self.connection.execute("PRAGMA journal_mode=WAL")

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    def __del__(self) -> None:
        """Close also the catalog of a generation that could not be opened."""
        with contextlib.suppress(AttributeError, sqlite3.Error):
            self.connection.close()

    def meta(self) -> dict[str, str]:
        """Return the metadata of the whole index."""
        return dict(self.connection.execute("SELECT key, value FROM meta"))

    def set_meta(self, values: dict[str, str]) -> None:
        """Set metadata of the whole index."""
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one consistent state within the block, whatever other connections write."""
        if self.connection.in_transaction:
            yield
            return
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.execute("COMMIT")

    def version(self) -> int:
        """Return a number that changes when another connection changes the catalog."""
        if self._frozen:
            before = self._frozen
            self._open()  # the disk may have room again
            self._opened += self._frozen != before
        return (self._opened << 32) + int(self.connection.execute("PRAGMA data_version").fetchone()[0])

    def folders(self) -> dict[str, int]:
        """Return each folder of lore with its mtime (ns) when it was last read."""
        return dict(self.connection.execute("SELECT path, mtime_ns FROM folders"))

    def set_folders(self, changed: dict[str, int], removed: Iterable[str]) -> None:
        """Set the times of changed folders and forget removed ones."""
        self.connection.executemany("DELETE FROM folders WHERE path = ?", [(path,) for path in removed])
        self.connection.executemany("INSERT OR REPLACE INTO folders VALUES (?, ?)", changed.items())

    def known(self, paths: Sequence[str] | None = None) -> dict[str, Known]:
        """Return the known state of these files (None: of all)."""
        query = (
            "SELECT path, mtime_ns, size, inode, digest, seen_ns, row, text_digest, vector_check, adopted"
            " FROM files"
        )
        rows: Iterator[tuple[str, int, int, int, str, int, int | None, str, int, int | None]] = (
            self.connection.execute(query) if paths is None else self.where_in(query, "path", paths)
        )
        return {
            r[0]: Known((r[1], r[2], r[3]), r[4], r[5], r[6], r[7] or "", r[8] or 0, r[9] != 0) for r in rows
        }

    def stamps(self, settled_ns: int, paths: Sequence[str] | None = None) -> list[tuple[str, int, int, int]]:
        """Return path, mtime (ns), size and inode of files (None: of all).

        The size is -1 if a file was seen less than `settled_ns` after its mtime.
        """
        size = f"CASE WHEN seen_ns - mtime_ns < {settled_ns:d} THEN -1 ELSE size END"
        query = f"SELECT path, mtime_ns, {size}, inode FROM files"  # noqa: S608
        found = self.connection.execute(query) if paths is None else self.where_in(query, "path", paths)
        return list(found)

    def lengths_beyond(self, length: int) -> dict[int, int]:
        """Return the length in characters of each longer text, by row."""
        return dict(self.connection.execute("SELECT row, length FROM files WHERE length > ?", (length,)))

    def mean_length(self) -> float:
        """Return the average length of a text in characters."""
        average = self.connection.execute("SELECT avg(length) FROM files WHERE row IS NOT NULL").fetchone()
        return float(average[0] or 0)

    def children(self, folder: str) -> list[str]:
        """Return the paths of the files directly in `folder`."""
        query = "SELECT path FROM files WHERE path > ? AND path < ? AND instr(substr(path, ?), '/') = 0"
        # "" is the root: all paths are greater than "", and less than the greatest character.
        values = (folder + "/", folder + "0", len(folder) + 2) if folder else ("", "\U0010ffff", 1)
        return [path for (path,) in self.connection.execute(query, values)]

    def put(self, entries: Sequence[Entry], *, new: bool = False) -> None:
        """Insert or replace files; `new` says that none of them is in the catalog yet."""
        if not new:
            self._forget_details([(entry.path,) for entry in entries])
        self.connection.executemany(_INSERT, map(_row_values, entries))
        tags = [(entry.row, tag) for entry in entries for tag in entry.tags]
        self.connection.executemany("INSERT OR IGNORE INTO row_tags VALUES (?, ?)", tags)
        row_details.put_names(
            self.connection,
            [(entry.row, entry.lore) for entry in entries],
            {entry.row: entry.markup for entry in entries if entry.markup},
        )

    def fade(self, day: int) -> None:
        """Set every entry's confidence as of a day (since 1970, UTC): 0.01 less for each month without validation."""
        faded = f"max(0, full - {DECAY_LOSS} * max(0, (? - anchor) / {DECAY_MONTH}))"
        query = (
            f"UPDATE files SET confidence = {faded} WHERE type = ? AND pinned = 0 AND confidence != {faded}"  # noqa: S608
        )
        self.connection.execute(query, (day, SEMANTIC, day))

    def touch(self, stamps: Iterable[tuple[int, int, int, int, str]]) -> None:
        """Update (mtime_ns, size, inode, seen_ns, path) of files whose bytes are unchanged."""
        query = "UPDATE files SET mtime_ns = ?, size = ?, inode = ?, seen_ns = ? WHERE path = ?"
        self.connection.executemany(query, stamps)

    def remove(self, paths: Sequence[str]) -> None:
        """Forget files."""
        values = [(path,) for path in paths]
        self._forget_details(values)
        self.connection.executemany("DELETE FROM files WHERE path = ?", values)

    def _forget_details(self, paths: Sequence[tuple[str]]) -> None:
        for statement in _DELETE_DETAILS:
            self.connection.executemany(statement, paths)

    def paths_of(self, ids: Sequence[str]) -> set[str]:
        """Return the files of these entries, and of those into which they were folded."""
        found = {row[0] for row in self.where_in("SELECT path FROM files", "id", ids)}
        query = "SELECT path FROM row_merged JOIN files USING (row)"
        return found | {row[0] for row in self.where_in(query, "row_merged.id", ids)}

    def paths_with_mark(self, mark: int) -> list[str]:
        """Return the files of entries whose content has this `words_mark`."""
        query = "SELECT path FROM files WHERE words_mark = ? AND shadowed = 0 ORDER BY path"
        return [path for (path,) in self.connection.execute(query, (mark,))]

    def paths_relating(self, kind: str, lore_id: str) -> list[str]:
        """Return the files of entries that have a relation of this kind to an entry."""
        query = "SELECT path FROM row_relations JOIN files USING (row) WHERE row_relations.id = ? AND kind = ? ORDER BY path"
        return [path for (path,) in self.connection.execute(query, (lore_id, kind))]

    def owners(self) -> dict[str, str]:
        """Return the entry that gets the judgements of each entry that was folded and exists again, or into several.

        That is the entry itself if it exists again, else the oldest of those into which it was folded.
        """
        several = (
            "SELECT row_merged.id, min(files.id) FROM row_merged JOIN files USING (row)"
            " GROUP BY row_merged.id HAVING count(DISTINCT files.id) > 1"
        )
        found = dict(self.connection.execute(several).fetchall())
        existing = "SELECT DISTINCT row_merged.id FROM row_merged JOIN files ON files.id = row_merged.id"
        return found | {lore_id: lore_id for (lore_id,) in self.connection.execute(existing)}

    def ids_of(self, paths: Sequence[str]) -> set[str]:
        """Return the ids of the entries in these files."""
        return {row[0] for row in self.where_in("SELECT id FROM files", "path", paths) if row[0]}

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return the ids among `ids` that some file has."""
        return {row[0] for row in self.where_in("SELECT id FROM files", "id", ids)}

    def duplicate_ids(self) -> list[str]:
        """Return the ids that more than one file has."""
        query = "SELECT id FROM files WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1"
        return [lore_id for (lore_id,) in self.connection.execute(query)]

    def shadow_duplicates(self, ids: Iterable[str]) -> None:
        """Give an id that several files have to the first path in order; the others are shadowed."""
        self.connection.executemany(
            "UPDATE files SET shadowed = (path != (SELECT min(path) FROM files WHERE id = ?)) WHERE id = ?",
            [(lore_id, lore_id) for lore_id in ids],
        )

    def hits(self, rows: Sequence[int]) -> list[Hit]:
        """Return the lines of these rows, without shadowed ones, in no order."""
        query = f"SELECT {_HIT} FROM files"  # noqa: S608
        return [*map(_hit, self.where_in(query, "shadowed = 0 AND row", rows))]

    def tokens(self, rows: Sequence[int]) -> dict[int, bytes]:
        """Return the tokens of those of these rows that have any."""
        return row_details.tokens(self.connection, rows)

    def linked(self, rows: Sequence[int]) -> list[Link]:
        """Return each of these rows with each entry related to it in either direction."""
        return row_details.read_links(self.connection, rows)

    def select(self, where: str, values: Sequence[object] = (), tail: str = "") -> list[Hit]:
        """Return the lines of entries that meet a condition written in Engram's code (never a user's text)."""
        query = f"SELECT {_HIT} FROM files WHERE row IS NOT NULL AND shadowed = 0 AND ({where}) {tail}"  # noqa: S608
        return [*map(_hit, self.connection.execute(query, tuple(values)))]

    def select_packed(
        self, columns: Sequence[str], where: str, values: Sequence[object] = (), tail: str = ""
    ) -> tuple[list[str], list[bytes]]:
        """Return ids, and only these columns, packed by `marshal`: a fifth of the memory of hits."""
        query = f"SELECT id, {', '.join(columns)} FROM files WHERE row IS NOT NULL AND shadowed = 0 AND ({where}) {tail}"  # noqa: S608
        ids, packed = list[str](), list[bytes]()
        for lore_id, *line in self.connection.execute(query, tuple(values)):
            ids.append(lore_id)
            packed.append(marshal.dumps(tuple(line), 2))
        return ids, packed

    def texts(self, statuses: Sequence[str]) -> list[Text]:
        """Return the entries with one of these statuses, by id (oldest first)."""
        query = "SELECT id, path, category, row, digest, text_digest FROM files"
        lines = self.where_in(query, "shadowed = 0 AND row IS NOT NULL AND status", statuses)
        return [*map(_text, sorted(lines))]

    def select_rows(self, where: str, values: Sequence[object]) -> list[int]:
        """Return the rows of entries that meet a condition written in Engram's code."""
        query = f"SELECT row FROM files WHERE row IS NOT NULL AND shadowed = 0 AND ({where})"  # noqa: S608
        return [row for (row,) in self.connection.execute(query, tuple(values))]

    def count(self, where: str = "1", values: Sequence[object] = ()) -> int:
        """Count the entries that meet a condition."""
        query = f"SELECT count(*) FROM files WHERE row IS NOT NULL AND shadowed = 0 AND ({where})"  # noqa: S608
        return int(self.connection.execute(query, tuple(values)).fetchone()[0])

    def count_rows(self, before: int | None = None) -> int:
        """Count the texts with rows below `before` (None: all), including those of shadowed duplicates."""
        query = "SELECT count(row) FROM files WHERE ? IS NULL OR row < ?"
        return int(self.connection.execute(query, (before, before)).fetchone()[0])

    def count_by(self, column: str) -> dict[str, int]:
        """Count the entries for each value of a column."""
        query = f"SELECT {column}, count(*) FROM files WHERE row IS NOT NULL AND shadowed = 0 GROUP BY 1 ORDER BY 2 DESC"  # noqa: S608
        return dict(self.connection.execute(query))

    def count_tags(self) -> dict[str, int]:
        """Count the entries with each tag, the most used first."""
        query = "SELECT tag, count(*) FROM tags GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self.connection.execute(query))

    def sum_of_lines(self) -> int:
        """Return a number that changes with each change of a file, but not with a mere check of all files."""
        query = "SELECT count(*) + coalesce(sum(line_check + (mtime_ns & 4294967295) + size), 0) FROM files"
        return int(self.connection.execute(query).fetchone()[0])

    def vector_checks(self) -> list[tuple[int, int, str]]:
        """Return the row, the check number of its vectors, and the path of every entry."""
        query = "SELECT row, vector_check, path FROM files WHERE row IS NOT NULL"
        return self.connection.execute(query).fetchall()

    def problems(self) -> list[Problem]:
        """Return the files that cannot be recalled with the reason, by path; shadowed duplicates are among them."""
        failed = self.connection.execute("SELECT path, line, error, hint FROM files WHERE error IS NOT NULL")
        found = [Problem(path, line or 0, error, hint or "") for path, line, error, hint in failed]
        duplicates = self.connection.execute("SELECT path, id FROM files WHERE shadowed > 0")
        found += [
            Problem(
                path, 0, f"another file already has the id {lore_id}", "Delete one, or remove its id line."
            )
            for path, lore_id in duplicates
        ]
        return sorted(found)

    def where_in(self, query: str, column: str, values: Sequence[object]) -> Iterator[tuple]:  # type: ignore[type-arg]
        """Yield the lines of a query without WHERE whose column has one of the values; `column` may begin with conditions."""
        for start in range(0, len(values), 500):
            part = values[start : start + 500]
            yield from self.connection.execute(
                f"{query} WHERE {column} IN ({','.join('?' * len(part))})", tuple(part)
            )


def _row_values(entry: Entry) -> tuple[Any, ...]:
    values = _values(entry)
    return (*values, line_check(values, entry.tags, row_details.names(entry.lore, entry.markup)))


def line_check(values: tuple[Any, ...], tags: Iterable[str], names: Iterable[str]) -> int:
    """Return the check number of a file's line, its tags and the names in it (in the form of `row_details.names`)."""
    import zlib  # needed only for writing

    # Confidence that decays depends on the day, not on the file.
    confidence = None if values[_FULL] is not None else values[_CONFIDENCE]
    content = (*values[_SEEN:_CONFIDENCE], confidence, *values[_CONFIDENCE + 1 :])
    # Format 2 of marshal is the last in which equal values always give equal bytes.
    return zlib.crc32(marshal.dumps((values[0], content, sorted(set(tags)), sorted(names)), 2))


def _values(entry: Entry) -> tuple[object, ...]:
    stamp = (entry.path, *entry.stamp, entry.digest, entry.seen_ns)
    lore, problem = entry.lore, entry.problem
    if lore is None:
        error = (problem.message, problem.line, problem.hint) if problem else ("", 0, "")
        return (*stamp, *error, *(None,) * (len(COLUMNS) - len(stamp) - 3))
    return (
        *stamp, None, None, None, lore.id, entry.row, entry.text_digest, entry.vector_check, int(entry.adopted),
        lore.title, lore.category, lore.type, lore.status, lore.thousandths, lore.validation_count,
        lore.last_validated and lore.last_validated.timestamp(), lore.created_at.timestamp(),
        lore.updated_at.timestamp(), lore.expires_at and lore.expires_at.timestamp(), lore.agent, lore.author, lore.source_id,
        None if lore.importance is None else float(lore.importance), int(lore.pinned), len(lore.content), "\n".join(lore.files),
        "\n".join(lore.when), len(lore.conflicts), *_before_decay(lore), words_mark(lore.content),
    )  # fmt: skip


def _before_decay(lore: Lore) -> tuple[int | None, ...]:
    """Return the columns `full`, `anchor`, `accounts`, `believed` and `modest`."""
    tally = lore.tally
    if tally is None:
        return None, None, len(lore.votes), None, None
    believed, modest = (None if value == tally.full else value for value in (tally.believed, tally.modest))
    return tally.full, tally.anchor, len(lore.votes), believed, modest


WAITING = -1  # replaces the check number of vectors that are still missing


class Waiting(NamedTuple):
    """A text without vectors: its row, its file, and the digest of the text."""

    row: int
    path: str
    text_digest: str


def texts_without_vectors(catalog: Catalog, after: int, most: int) -> list[Waiting]:
    """Return the first texts without vectors beyond row `after`, at most `most`."""
    query = "SELECT row, path, text_digest FROM files WHERE vector_check = ? AND row > ? ORDER BY row LIMIT ?"
    return [Waiting._make(line) for line in catalog.connection.execute(query, (WAITING, after, most))]


def count_waiting(catalog: Catalog) -> int:
    """Count the texts without vectors."""
    query = "SELECT count(*) FROM files WHERE vector_check = ?"
    return int(catalog.connection.execute(query, (WAITING,)).fetchone()[0])


def set_vector_checks(catalog: Catalog, checks: Mapping[int, int]) -> None:
    """Set the check numbers of vectors, by row; the lines are otherwise unchanged."""
    rows = list(checks)
    tags, names = dict[int, list[str]](), dict[int, list[str]]()
    for row, tag in catalog.where_in("SELECT row, tag FROM row_tags", "row", rows):
        tags.setdefault(row, []).append(tag)
    for row, name in catalog.where_in(row_details.NAMES, "row", rows):
        names.setdefault(row, []).append(name)
    query = f"SELECT {', '.join(COLUMNS)} FROM files"  # noqa: S608
    for line in list(catalog.where_in(query, "row", rows)):
        row = line[_ROW]
        values = (*line[:_CHECK], checks[row], *line[_CHECK + 1 :])
        update = "UPDATE files SET vector_check = ?, line_check = ? WHERE row = ?"
        check = line_check(values, tags.get(row, ()), names.get(row, ()))
        catalog.connection.execute(update, (checks[row], check, row))


def file_uri(path: str, query: str) -> str:
    """Return the URI by which SQLite opens the file at `path` with the options in `query`."""
    for mark, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(mark, code)
    return f"file:{path}?{query}"
