"""Changes of a generation: vectors first, then words, the catalog last and in one transaction.

A writer killed in between leaves more texts in words and vectors than in the catalog; the next writer removes the surplus
before it reuses a row number. A few changes of words wait in the catalog (see `delta`); many are folded into the word index
at once, together with those: the word index always has all rows below a number that the catalog knows.
"""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.index import delta, row_details
from engram.adapters.index.catalog import WAITING, Entry, count_waiting, set_vector_checks
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, converting_damage
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import numpy

    from engram.adapters.index.index import Generation
    from engram.adapters.index.vectors import VectorFile
    from engram.adapters.index.words import Words


class NewText(NamedTuple):
    """A text to be made searchable, and its entry, without a row yet."""

    entry: Entry
    text: str


class GenerationWriter:
    """Collects changes of one generation, which take effect with `commit`; as a context manager, abandons them on an error."""

    def __init__(self, generation: Generation, *, bulk: bool) -> None:
        """Begin a transaction; `bulk` (a rebuild) takes more memory for many texts."""
        self._generation = generation
        self._bulk = bulk
        self._words: Words | None = None
        self._next_row = generation.next_row
        self._next_slot = generation.next_slot
        self._dead = generation.dead
        self._words_dead = generation.words_dead
        self._new: dict[int, str] = {}  # texts not in the word index yet, by row
        self._dropped: list[int] = []
        self._ids: set[str] = set()
        self._paths: set[str] = set()
        self._lacks_vectors = generation.waiting > 0
        with converting_damage():
            generation.catalog.connection.execute("BEGIN IMMEDIATE")

    @property
    def other_model(self) -> bool:
        """Whether the generation's vectors are of another model than the one it was opened for."""
        return self._generation.other_model

    def add(
        self,
        texts: Sequence[NewText],
        vectors: numpy.ndarray | None,
        counts: Sequence[int],
        there: Sequence[bool] = (),
        tokens: Sequence[bytes] = (),
    ) -> None:
        """Add texts with their vectors (float32, sum(counts) x dimensions; None if they cannot be made now).

        Text `i` has the next `counts[i]` of the vectors; `there[i]` says whether they are made already (empty: all are).
        `tokens` are the model's tokens of each text, if any.
        """
        if not texts:
            return
        first = self._next_row
        self._next_row += len(texts)
        with converting_damage():
            checks = [0] * len(texts)
            if self._generation.vectors is not None:
                checks = self._write_vectors(self._generation.vectors, first, vectors, counts, there)
            entries = []
            for number, new in enumerate(texts):
                row = first + number
                if self._words is not None:
                    self._words.add(row, new.text)
                else:
                    self._new[row] = new.text
                entries.append(new.entry._replace(row=row, vector_check=checks[number]))
            self.put(entries)
            row_details.put_tokens(self._generation.catalog.connection, first, tokens)
            if len(self._new) > delta.MOST:
                self._fold()

    def _write_vectors(
        self,
        file: VectorFile,
        row: int,
        vectors: numpy.ndarray | None,
        counts: Sequence[int],
        there: Sequence[bool],
    ) -> list[int]:
        """Store the vectors of rows from `row` on, zeros for missing ones; return their check numbers."""
        if vectors is None:
            vectors = numpy_module().zeros((sum(counts), file.dimensions), "float32")
            there = [False] * len(counts)
        checks = file.write(row, self._next_slot, vectors, counts)
        self._next_slot += len(vectors)
        self._lacks_vectors |= not all(there)
        return [
            check if is_there else WAITING
            for check, is_there in zip(checks, there or [True] * len(checks), strict=True)
        ]

    def fill(self, rows: Mapping[int, numpy.ndarray]) -> None:
        """Store the missing vectors of texts, by row."""
        generation = self._generation
        assert generation.vectors is not None
        with converting_damage():
            checks = generation.vectors.overwrite(rows, generation.next_row, generation.next_slot)
            set_vector_checks(generation.catalog, checks)

    def put(self, entries: Sequence[Entry], *, again: bool = False) -> None:
        """Record files whose searchable text is unchanged (they have a row), or that are problems.

        `again` says that this transaction may already have recorded them.
        """
        with converting_damage():
            if not self._bulk:
                self._note_paths([entry.path for entry in entries])
                self._ids |= {entry.lore.id for entry in entries if entry.lore is not None}
            self._generation.catalog.put(entries, new=self._bulk and not again)

    def owners(self) -> dict[str, str]:
        """Return the same as `Catalog.owners`, for the entries recorded so far."""
        with converting_damage():
            return self._generation.catalog.owners()

    def remove(self, paths: Sequence[str]) -> None:
        """Forget files."""
        with converting_damage():
            self._note_paths(paths)
            self._generation.catalog.remove(paths)

    def drop_rows(self, rows: Sequence[int]) -> None:
        """Remove texts from words and vectors."""
        if not rows:
            return
        with converting_damage():
            connection, indexed = self._generation.catalog.connection, self._generation.delta.indexed
            if self._words is not None:
                self._words.remove(rows)
            else:
                delta.remove_texts(connection, rows, indexed)
            self._words_dead += sum([row < indexed.rows for row in rows])
            row_details.drop_tokens(connection, rows)
            self._dropped += rows
            self._dead += len(rows)

    def touch(self, stamps: Sequence[tuple[int, int, int, int, str]]) -> None:
        """Update (mtime_ns, size, inode, seen_ns, path) of files whose bytes are unchanged."""
        with converting_damage():
            self._paths.update([stamp[-1] for stamp in stamps])
            self._generation.catalog.touch(stamps)

    def fade(self, day: int) -> None:
        """Give every entry the confidence that it has on a day (since 1970, UTC)."""
        with converting_damage():
            self._generation.catalog.fade(day)

    def folders(self, changed: dict[str, int], removed: Sequence[str]) -> None:
        """Set the times of changed folders and forget removed ones."""
        if not changed and not removed:
            return
        with converting_damage():
            self._generation.catalog.set_folders(changed, removed)
            self._generation.catalog.set_meta({"folders_mark": os.urandom(8).hex()})

    def commit(self, notes: dict[str, str]) -> None:
        """Make all changes take effect; `notes` are metadata of the whole index (`head`, `swept_ns`)."""
        generation = self._generation
        with converting_damage():
            meta = dict(notes) | self._commit_words()
            meta |= {
                "next_row": str(self._next_row),
                "next_slot": str(self._next_slot),
                "dead": str(self._dead),
                "words_dead": str(self._words_dead),
            }
            if self._bulk:
                generation.catalog.add_indexes()
            generation.catalog.shadow_duplicates(
                generation.catalog.duplicate_ids() if self._bulk else self._ids
            )
            if self._lacks_vectors:
                meta["waiting"] = str(count_waiting(generation.catalog))
            generation.catalog.set_meta(meta)
            generation.catalog.connection.execute("COMMIT")
            if self._bulk:
                generation.catalog.share()
            if generation.vectors is not None and self._dropped:
                # Not before: readers, and the repair after a kill, need these rows until here.
                generation.vectors.clear(self._dropped, generation.next_row, generation.next_slot)
            generation.reload(self._paths)

    def abandon(self) -> None:
        """Drop everything that was not committed, as far as a damaged index allows."""
        with contextlib.suppress(DamagedIndexError, IndexUnavailableError), converting_damage():
            if self._generation.catalog.connection.in_transaction:
                self._generation.catalog.connection.execute("ROLLBACK")
            if self._words is not None:
                words, self._words = self._words, None
                words.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abandon()

    def _commit_words(self) -> dict[str, str]:
        """Leave the changes of words in the delta, or fold them into the word index; return the metadata for the catalog."""
        from engram.adapters.index.words import terms_of

        generation, connection = self._generation, self._generation.catalog.connection
        if self._words is None and (
            len(self._new) + delta.count_changes(connection) > delta.MOST
            or not (self._bulk or generation.words_in_step())
        ):
            self._fold()
        if self._words is None:
            new = {row: terms_of(text) for row, text in self._new.items()}
            if generation.delta.skews_scores(list(new.values())):
                self._fold()
            else:
                delta.add_texts(connection, new)
        if self._words is None:
            return generation.note_words() if self._bulk else {}
        self._words.commit()
        indexed, self._words = self._words.indexed(self._next_row), None
        return generation.note_words() | {"indexed": json.dumps(indexed)}

    def _fold(self) -> None:
        """Begin to change the word index, with the changes that have waited so far."""
        generation = self._generation
        words = generation.words
        words.begin(bulk=self._bulk)
        self._words = words
        if not generation.words_in_step():
            self._words_dead += words.remove_from(generation.delta.indexed.rows)
        texts, stale = delta.take_changes(generation.catalog.connection)
        words.remove(stale)
        for row, terms in texts.items():
            words.add_terms(row, terms)
        for row, text in self._new.items():
            words.add(row, text)
        self._new.clear()

    def _note_paths(self, paths: Sequence[str]) -> None:
        self._paths.update(paths)
        self._ids |= self._generation.catalog.ids_of(paths)
