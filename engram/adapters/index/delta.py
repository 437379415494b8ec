"""Changes that are not yet in the word index: new texts, scored here as tantivy scores them, and removed texts.

A commit of tantivy writes, syncs and opens a dozen files, which takes 20 to 60 ms however small it is. So a few changes wait
in the catalog, written in its transaction; the writer folds them into the word index when there are more than `MOST`, or
when they would skew tantivy's scores, which use only its own average length. A store of up to `MOST` texts has only the
delta. Scores equal those of a single index of all texts: to five digits if nothing is folded yet, else within `_TOLERANCE`.
"""

from __future__ import annotations

import marshal
import math

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

MOST = 128  # changes
_TOLERANCE = 0.02  # of the average length of a text, which tantivy's scores depend on

K1, B = 1.2, 0.75  # tantivy's parameters of BM25
_EXACT_LENGTHS = 24
_MANTISSA = 8

SCHEMA = """
CREATE TABLE delta (row INTEGER PRIMARY KEY, terms BLOB NOT NULL, check_number INTEGER NOT NULL);
CREATE TABLE stale (row INTEGER PRIMARY KEY);
"""


class Indexed(NamedTuple):
    """The contents of the word index: rows below `rows`, the number of documents (with deleted ones), their average length."""

    rows: int = 0
    documents: int = 0
    average: float = 0.0


class Delta:
    """The changes that are not yet in one generation's word index."""

    def __init__(self, indexed: Indexed | None = None) -> None:
        """Begin without changes; `indexed` are the contents of the word index (None: empty)."""
        self.indexed = indexed or Indexed()
        self.stale: frozenset[int] = frozenset()
        self._packed: dict[int, bytes] = {}
        self._texts: dict[int, tuple[dict[str, int], int]] = {}  # terms with their counts, and length
        self._rows: dict[str, list[int]] = {}  # those of `_texts` that have a term
        self._tokens = 0

    def load(self, connection: sqlite3.Connection, indexed: Indexed) -> None:
        """Read the changes made by this or other connections."""
        self.indexed = indexed
        rows = {row for (row,) in connection.execute("SELECT row FROM delta")}
        for row in self._packed.keys() - rows:
            del self._packed[row]
            if row in self._texts:
                terms, _ = self._texts.pop(row)
                self._tokens -= sum(terms.values())
                for term in terms:
                    self._rows[term].remove(row)
                    if not self._rows[term]:
                        del self._rows[term]
        if rows - self._packed.keys():
            last = max(self._packed, default=-1)  # row numbers only grow
            found = connection.execute("SELECT row, terms FROM delta WHERE row > ?", (last,))
            self._packed.update(found)
        self.stale = frozenset(row for (row,) in connection.execute("SELECT row FROM stale"))

    def __len__(self) -> int:
        return len(self._packed)

    @property
    def is_empty(self) -> bool:
        """Whether the word index has everything."""
        return not self._packed and not self.stale

    @property
    def texts(self) -> Mapping[int, tuple[dict[str, int], int]]:
        """The terms of each new text, with their counts, and its length as tantivy rounds it, by row."""
        if len(self._texts) < len(self._packed):
            for row, packed in self._packed.items():
                if row not in self._texts:
                    terms = unpack(packed)
                    length = sum(terms.values())
                    self._texts[row] = terms, rounded_length(length)
                    self._tokens += length
                    for term in terms:
                        self._rows.setdefault(term, []).append(row)
        return self._texts

    def hides(self, row: int) -> bool:
        """Return whether to ignore a row that the word index finds: it was removed, or is scored here."""
        return row >= self.indexed.rows or row in self.stale

    def frequency(self, term: str) -> int:
        """Return the number of new texts with a term."""
        return len(self._rows_of(term))

    def rows_with(self, terms: Iterable[str]) -> list[int]:
        """Return the new texts that have all of these terms, in order."""
        wanted = {*terms}
        return [row for row, (found, _) in sorted(self.texts.items()) if wanted <= found.keys()]

    def rows_close_to(self, term: str) -> list[int]:
        """Return the new texts that have a term one edit away from this one, in order."""
        rows_by_term = self._rows if self.texts else {}
        return sorted(
            {row for other, rows in rows_by_term.items() if is_one_edit_away(term, other) for row in rows}
        )

    def average(self) -> float:
        """Return the average length of all texts."""
        documents, average, new = self.indexed.documents, self.indexed.average, len(self.texts)
        return (documents * average + self._tokens) / max(1, documents + new)

    def skews_scores(self, added: Sequence[Mapping[str, int]]) -> bool:
        """Return whether the waiting texts and these change the average length so much that tantivy's scores are wrong."""
        indexed, number = self.indexed, len(self.texts) + len(added)
        if not indexed.documents:
            return False
        tokens = self._tokens + sum([sum(terms.values()) for terms in added])
        difference = abs(tokens - number * indexed.average)
        return difference > _TOLERANCE * indexed.average * (indexed.documents + number)

    def boost(self, idf: float, indexed_idf: float) -> float:
        """Return the factor that corrects tantivy's score of a term, which takes only its own documents into account.

        It makes the idf exact; the average length only for a text of average length that has the term once.
        """
        return idf / indexed_idf * (1 + K1) / (1 + K1 * (1 - B + B * self.indexed.average / self.average()))

    def scores(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return the BM25 score of each new text that has one of these terms, given their idf."""
        average = self.average()
        found: dict[int, float] = {}
        for term, idf in weights.items():
            for row in self._rows_of(term):
                terms, length = self._texts[row]
                norm = K1 * (1 - B + B * length / average)
                found[row] = found.get(row, 0.0) + idf * (1 + K1) * terms[term] / (terms[term] + norm)
        return found

    def _rows_of(self, term: str) -> Sequence[int]:
        return self._rows.get(term, ()) if self.texts else ()


def add_texts(connection: sqlite3.Connection, texts: Mapping[int, Mapping[str, int]]) -> None:
    """Add new texts, as terms with their counts by row."""
    import zlib  # needed only for writing

    texts_packed = {row: marshal.dumps(dict(terms), 2) for row, terms in texts.items()}
    values = [(row, packed, zlib.crc32(packed)) for row, packed in texts_packed.items()]
    connection.executemany("INSERT INTO delta VALUES (?, ?, ?)", values)


def remove_texts(connection: sqlite3.Connection, rows: Sequence[int], indexed: Indexed) -> None:
    """Remove new texts, and mark those in the word index as stale."""
    connection.executemany("DELETE FROM delta WHERE row = ?", [(row,) for row in rows])
    stale = [(row,) for row in rows if row < indexed.rows]
    connection.executemany("INSERT OR IGNORE INTO stale VALUES (?)", stale)


def take_changes(connection: sqlite3.Connection) -> tuple[dict[int, dict[str, int]], list[int]]:
    """Return all changes and delete them: the terms of new texts by row, in order, and the stale rows."""
    texts = connection.execute("SELECT row, terms FROM delta ORDER BY row").fetchall()
    stale = [row for (row,) in connection.execute("SELECT row FROM stale ORDER BY row")]
    connection.execute("DELETE FROM delta")
    connection.execute("DELETE FROM stale")
    return {row: unpack(packed) for row, packed in texts}, stale


def count_changes(connection: sqlite3.Connection) -> int:
    """Count the changes."""
    query = "SELECT (SELECT count(*) FROM delta) + (SELECT count(*) FROM stale)"
    return int(connection.execute(query).fetchone()[0])


def unpack(packed: bytes) -> dict[str, int]:
    """Unpack the terms of a text. Raises ValueError, EOFError or TypeError if they are damaged."""
    terms = marshal.loads(packed)  # noqa: S302  # of this index's own catalog
    if not isinstance(terms, dict):
        raise TypeError("the terms of a text are not a dictionary")
    return terms


def bm25_idf(documents: int, frequency: int) -> float:
    """Return the idf of a term as tantivy computes it."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def rounded_length(length: int) -> int:
    """Return a text's length as tantivy stores it in a byte: exact up to 40, then with three significant binary digits."""
    above = length - _EXACT_LENGTHS
    if above < _MANTISSA:
        return length
    shift = above.bit_length() - _MANTISSA.bit_length()
    return _EXACT_LENGTHS + (above >> shift << shift)


def is_one_edit_away(one: str, other: str) -> bool:
    """Return whether at most one edit makes the words equal: inserting, deleting, replacing, or swapping neighbours."""
    if abs(len(one) - len(other)) > 1:
        return False
    if one == other:
        return True
    start = 0
    while start < len(one) and start < len(other) and one[start] == other[start]:
        start += 1
    left, right = one[start:], other[start:]
    if len(left) == len(right):
        return left[1:] == right[1:] or (left[:2] == right[1::-1] and left[2:] == right[2:])
    shorter, longer = sorted((left, right), key=len)
    return shorter == longer[1:]
