"""A cache of the vectors of slow models, by model and content, in a file beside the index.

A rebuild of the index, or a return to an earlier model, reads them from here. A damaged file is renamed and replaced by
a new one.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from hashlib import blake2b

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, TypeVar

    Result = TypeVar("Result")

FILE_NAME = "vectors.db"
_MAX_OTHER_MODELS = 2  # whose vectors are kept for a return to them
_FORMAT = 1
_SCHEMA = f"""
PRAGMA user_version = {_FORMAT};
CREATE TABLE IF NOT EXISTS models (
    number INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL DEFAULT 0,
    rests_until_ns INTEGER NOT NULL DEFAULT 0, trouble TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS vectors (
    model INTEGER NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, digest)
) WITHOUT ROWID;
"""
_BATCH_SIZE = 500


def text_key(text: str) -> bytes:
    """Return the key of a text, by which its vector is cached."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VectorCache:
    """The vectors of one model (as bytes packed by the caller) in the cache file at `path`. Never raises.

    Two processes may use one file; each has its own connection, which its threads share under the store's lock.
    """

    def __init__(self, path: str, identity: str) -> None:
        """Open nothing yet."""
        self._path = path
        self._identity = identity
        self._connection: sqlite3.Connection | None = None
        self._number = 0

    def found(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the cached vectors of these keys."""
        return self._run(lambda database: self._found(database, keys), {})

    def keep(self, vectors: Mapping[bytes, bytes]) -> None:
        """Store vectors by key."""
        self._run(lambda database: self._keep(database, vectors), None)

    def keep_only(self, keys: Collection[bytes]) -> None:
        """Delete this model's vectors of other texts, and all but the newest two of the other models."""
        self._run(lambda database: self._keep_only(database, keys), None)

    @property
    def dimensions(self) -> int:
        """The length of the model's vectors; 0 if it is not known yet."""
        row = self._model("dimensions")
        return int(row[0]) if row else 0

    @dimensions.setter
    def dimensions(self, value: int) -> None:
        self._set("dimensions", value)

    def resting(self) -> tuple[int, str]:
        """Return the time (Unix ns) until which no process may use the model, and the error that led to this."""
        row = self._model("rests_until_ns, trouble")
        return (int(row[0]), str(row[1])) if row else (0, "")

    def rest(self, until_ns: int, trouble: str) -> None:
        """Keep all processes from using the model until a time (Unix ns); 0: it works again."""
        self._set("rests_until_ns", until_ns)
        self._set("trouble", trouble)

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        """Close the file if it is still open."""
        with contextlib.suppress(Exception):
            self.close()

    def _found(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _BATCH_SIZE):
            batch = keys[start : start + _BATCH_SIZE]
            marks = ",".join("?" * len(batch))
            query = f"SELECT digest, vector FROM vectors WHERE model = ? AND digest IN ({marks})"  # noqa: S608
            found |= dict(database.execute(query, (self._number, *batch)).fetchall())
        return found

    def _keep(self, database: sqlite3.Connection, vectors: Mapping[bytes, bytes]) -> None:
        rows = [(self._number, key, vector) for key, vector in vectors.items()]
        database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def _keep_only(self, database: sqlite3.Connection, keys: Collection[bytes]) -> None:
        query = "SELECT digest FROM vectors WHERE model = ?"
        known = {digest for (digest,) in database.execute(query, (self._number,))}
        unused = [(self._number, digest) for digest in known.difference(keys)]
        database.executemany("DELETE FROM vectors WHERE model = ? AND digest = ?", unused)
        others = "SELECT number FROM models WHERE number != ? ORDER BY number DESC LIMIT -1 OFFSET ?"
        for (number,) in database.execute(others, (self._number, _MAX_OTHER_MODELS)).fetchall():
            database.execute("DELETE FROM vectors WHERE model = ?", (number,))
            database.execute("DELETE FROM models WHERE number = ?", (number,))

    def _model(self, columns: str) -> tuple[Any, ...] | None:
        query = f"SELECT {columns} FROM models WHERE number = ?"  # noqa: S608
        found: tuple[Any, ...] | None = self._run(
            lambda database: database.execute(query, (self._number,)).fetchone(), None
        )
        return found

    def _set(self, column: str, value: object) -> None:
        query = f"UPDATE models SET {column} = ? WHERE number = ?"  # noqa: S608
        self._run(lambda database: database.execute(query, (value, self._number)), None)

    def _run(self, work: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        """Return the result of `work`; replace a damaged file, and return `otherwise` if the file cannot be used."""
        for _ in (1, 2):
            try:
                database = self._connection or self._open()
                with database:
                    return work(database)
            except sqlite3.OperationalError:  # locked, read-only or disk full
                return otherwise
            except (sqlite3.Error, OSError):
                self.close()
                with contextlib.suppress(OSError):
                    os.replace(self._path, f"{self._path}.damaged")
        return otherwise

    def _open(self) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        database = sqlite3.connect(self._path, check_same_thread=False, timeout=5.0)
        try:
            if database.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                database.execute("PRAGMA journal_mode=WAL")
                database.executescript(_SCHEMA)
            database.execute("PRAGMA synchronous=NORMAL")
            query = "SELECT number FROM models WHERE identity = ?"
            row = database.execute(query, (self._identity,)).fetchone()
            if row is None:
                with database:
                    database.execute("INSERT INTO models (identity) VALUES (?)", (self._identity,))
                row = database.execute(query, (self._identity,)).fetchone()
        except BaseException:
            database.close()
            raise
        self._connection, self._number = database, int(row[0])
        return database
