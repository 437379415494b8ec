"""The index as the rest of Engram sees it: the current generation, kept in step with other processes.

The file `CURRENT` names the generation in use. Readers keep the one they opened until their next `look`; a rebuild fills
a new folder and then replaces `CURRENT`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress

from engram.adapters.index import catalog, graph_ranks, row_details
from engram.adapters.index.catalog import FORMAT, WAITING, Catalog
from engram.adapters.index.damage import (
    DamagedIndexError,
    IndexUnavailableError,
    check_vectors,
    converting_damage,
)
from engram.adapters.index.delta import Delta, Indexed
from engram.adapters.index.words import Words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.index.graph_ranks import RankedGraph
    from engram.adapters.index.vector_graph import GraphFile
    from engram.adapters.index.vectors import VectorFile

GRAPH = "graph"  # the key of the metadata that names the graph
_MANAGED = ".managed.json"


class Generation:
    """An open generation of the index: a folder with meta.json, catalog, words and vectors, of one format and one model.

    `model` identifies the model that made the vectors; `dimensions` is 0 without vectors. `other_model` says that this is
    not the model it was opened for: its words are still valid, its vectors only for that other model. `waiting` is the
    number of texts without vectors.
    """

    def __init__(self, folder: str, model: str, dimensions: int, *, create: bool = False) -> None:
        """Open or create a generation. Raises DamagedIndexError, also for another format."""
        self.folder = folder
        self.model = model
        self.dimensions = dimensions
        self.other_model = False
        self._words: Words | None = None
        self._words_folder = os.path.join(folder, "words")
        self.delta = Delta()
        self.words_stamp = ""
        self.folders: dict[str, int] = {}
        self._folders_mark = ""
        self._stamps: tuple[int, dict[str, tuple[str, int, int, int]]] | None = None
        self._vectors: VectorFile | None = None
        with converting_damage():
            if create:
                self._create()
            else:
                self._check_meta()
            self.catalog = Catalog(os.path.join(folder, "catalog.db"), create=create)
            self.reload()

    def _create(self) -> None:
        os.makedirs(self.folder)
        with open(os.path.join(self.folder, "meta.json"), "w", encoding="utf-8") as file:
            json.dump({"format": FORMAT, "model": self.model, "dimensions": self.dimensions}, file)
        self._words = Words(self._words_folder, create=True)
        self._words.delta = self.delta

    def _check_meta(self) -> None:
        with open(os.path.join(self.folder, "meta.json"), encoding="utf-8") as file:
            meta = json.load(file)
        if meta == {"format": FORMAT, "model": self.model, "dimensions": self.dimensions}:
            return
        if meta["format"] != FORMAT or meta["model"] == self.model:
            raise DamagedIndexError("it was made by another version")
        self.other_model = True
        self.model, self.dimensions = str(meta["model"]), int(meta["dimensions"])

    @property
    def words(self) -> Words:
        """The word index, opened on first use. Raises DamagedIndexError.

        Sizes are checked each time: reading a mapped file that was truncated kills the process.
        """
        with converting_damage():
            self._check_words()
            if self._words is None:
                self._words = Words(self._words_folder)
                self._words.delta = self.delta
        return self._words

    @property
    def vectors(self) -> VectorFile | None:
        """The vectors; None in an index of words only."""
        if self._vectors is None and self.dimensions:
            from engram.adapters.index.vectors import VectorFile  # not needed for words alone

            self._vectors = VectorFile(self.folder, self.dimensions)
            self._vectors.graph_file = self.graph_file
        return self._vectors

    @property
    def graph_file(self) -> GraphFile | None:
        """The graph over the vectors that the catalog names, if there is one."""
        if not self._graph:
            return None
        from engram.adapters.index.vector_graph import read_graph_file

        return read_graph_file(self._graph)

    def reload(self, changed: Collection[str] | None = None) -> None:
        """Read the metadata of the whole generation again; if `changed` is given, only the lines of those files differ."""
        self.version = self.catalog.version()  # first, so that a change during the rest is seen next time
        with self.catalog.snapshot():
            self._reload(changed)

    def follow(self) -> bool:
        """Read the changes of other processes; return whether there were any."""
        if self.catalog.version() == self.version:
            return False
        self.reload()
        return True

    def _reload(self, changed: Collection[str] | None) -> None:
        meta = self.catalog.meta()
        self.next_row = int(meta.get("next_row", "0"))
        self.next_slot = int(meta.get("next_slot", "0"))
        self.dead = int(meta.get("dead", "0"))
        self.words_dead = int(meta.get("words_dead", "0"))
        self.waiting = int(meta.get("waiting", "0"))
        self.head = meta.get("head", "")
        self.swept_ns = int(meta.get("swept_ns", "0"))
        self.rules = meta.get("rules", "")
        self.judged = meta.get("judged", "")
        self.day = int(meta.get("day", "0"))
        self._graph = meta.get(GRAPH, "")
        if self._vectors is not None:
            self._vectors.graph_file = self.graph_file
        self.owners: dict[str, str] = json.loads(meta.get("owners", "{}"))
        words_stamp, self.words_stamp = self.words_stamp, meta.get("words_stamp", "")
        self._words_files: dict[str, list[int]] = json.loads(meta.get("words_files", "{}"))
        self._words_sizes = {
            os.path.join(self._words_folder, name): size
            for name, (size, _) in self._words_files.items()
            if not name.endswith(".json")  # a running writer updates these before it commits
        }
        if self._folders_mark != (mark := meta.get("folders_mark", "")):
            self.folders, self._folders_mark = self.catalog.folders(), mark
        self.delta.load(self.catalog.connection, Indexed(*json.loads(meta.get("indexed", "[]"))))
        self.has_links = row_details.has_links(self.catalog.connection)
        self.has_ranks = graph_ranks.has_ranks(self.catalog.connection)
        self._update_stamps(changed)
        if self._words is not None and words_stamp != self.words_stamp:
            self.words.reload()
        if self.dimensions:
            check_vectors(self.folder, self.dimensions, self.next_row, self.next_slot)

    def ranks(self, nodes: Sequence[str] | None = None) -> Mapping[str, float]:
        """Return the known importance of these nodes of the graph (None: all); an entry's node is its id."""
        return graph_ranks.load_ranks(self.catalog, nodes) if self.has_ranks else {}

    def save_ranks(self, known: RankedGraph, importance: Mapping[str, float] | None) -> bool:
        """Store the importance of all nodes of a graph (None: unchanged); False if another process is writing."""
        with converting_damage():
            is_saved = graph_ranks.save_ranks(self.catalog, known, importance)
            self.has_ranks = graph_ranks.has_ranks(self.catalog.connection)
        return is_saved

    def stamps(self, settled_ns: int) -> list[tuple[str, int, int, int]]:
        """Return path, mtime (ns), size and inode of each file when it was last read; cached until the catalog changes.

        The size is -1 if the file was younger than `settled_ns` when it was read: its mtime proves nothing.
        """
        if self._stamps is None or self._stamps[0] != settled_ns:
            self._stamps = settled_ns, {stamp[0]: stamp for stamp in self.catalog.stamps(settled_ns)}
        return [*self._stamps[1].values()]

    def _update_stamps(self, changed: Collection[str] | None) -> None:
        """Update the cached stamps of changed files: reading all of 10,000 again takes 5 ms."""
        if changed is None or self._stamps is None:
            self._stamps = None
            return
        settled_ns, stamps = self._stamps
        for path in changed:
            stamps.pop(path, None)
        stamps.update({stamp[0]: stamp for stamp in self.catalog.stamps(settled_ns, list(changed))})

    def words_in_step(self) -> bool:
        """Return whether the word index is the one the catalog was written with; it is not if a writer was killed in between."""
        return self._stamp_on_disk() == self.words_stamp

    def check_in_step(self) -> bool:
        """Return the same as `words_in_step`; raise DamagedIndexError if the words lack texts that the catalog has.

        Call it holding the index lock: a running writer also is out of step for a moment.
        """
        if self.words_in_step():
            return True
        self.words.reload()
        rows = self.delta.indexed.rows
        known = self.catalog.count_rows(rows)
        if not known <= self.words.count_before(rows) <= known + len(self.delta.stale):
            raise DamagedIndexError("a killed process left it half written")
        return False

    def _stamp_on_disk(self) -> str:
        with open(os.path.join(self._words_folder, "meta.json"), encoding="utf-8") as file:
            return str(json.load(file)["opstamp"])

    def _check_words(self) -> None:
        """Check sizes only; `verify` checks contents, which means reading them all."""
        if not os.path.exists(
            os.path.join(self._words_folder, "meta.json")
        ):  # the only file of an empty word index
            raise DamagedIndexError("its words are gone")
        wrong = [path for path, size in self._words_sizes.items() if _size(path) != size]
        if wrong and self.words_in_step():
            name = os.path.basename(wrong[0])
            raise DamagedIndexError(f"words/{name} has a different size from the one recorded in the index")

    def note_words(self) -> dict[str, str]:
        """Return the metadata of the word index on disk: its stamp, and the size and checksum of each file."""
        before = self._words_files
        files = {}
        for name in sorted(os.listdir(self._words_folder)):
            path = os.path.join(self._words_folder, name)
            if name in before and not name.endswith(".json"):  # tantivy writes these once
                files[name] = before[name]
            elif not name.endswith(".lock"):
                files[name] = [os.stat(path).st_size, _file_check(path)]
        return {"words_stamp": self._stamp_on_disk(), "words_files": json.dumps(files)}

    def verify(self) -> list[str]:
        """Read everything and return a list of the damage found. Takes seconds for 100,000 entries."""
        from engram.adapters.index.catalog_check import find_damage

        found = []
        with converting_damage():
            found += [f"catalog.db: {what}" for what in find_damage(self.catalog.connection)]
            for name, (_, expected) in self._words_files.items():
                if self.words_in_step() and _file_check(os.path.join(self._words_folder, name)) != expected:
                    if name == _MANAGED and self._lists_all_words():
                        continue  # a writer that did not commit has added its files to the list
                    found.append(f"words/{name}: contents changed since they were written")
            if self.vectors is not None:
                found += self._find_damaged_vectors(self.vectors)
                found += self._check_graph()
        return found

    def _lists_all_words(self) -> bool:
        """Whether tantivy's list of its own files is readable and has all files that the catalog knows."""
        try:
            with open(os.path.join(self._words_folder, _MANAGED), "rb") as file:
                listed = json.load(file)
        except ValueError:
            return False
        return isinstance(listed, list) and {*self._words_files} - {_MANAGED} <= {*map(str, listed)}

    def _find_damaged_vectors(self, vectors: VectorFile) -> list[str]:
        stored = self.catalog.vector_checks()
        checks = [(row, expected) for row, expected, _ in stored if expected != WAITING]
        damaged = set(vectors.damaged(checks, self.next_row, self.next_slot)) if stored else set()
        return [f"vectors.i8: the vectors of {path} are damaged" for row, _, path in stored if row in damaged]

    def _check_graph(self) -> list[str]:
        """Report a graph whose bytes differ from what was written; a missing one is made again in the background."""
        file = self.graph_file
        if file is None:
            return []
        from engram.adapters.index.vector_graph import graph_exists, is_whole

        is_damaged = graph_exists(self.folder, file) and not is_whole(self.folder, file)
        return [f"{file.name}: contents changed since they were written"] if is_damaged else []

    def close(self) -> None:
        """Close the files."""
        self.catalog.close()
        self._words = self._vectors = None


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def _file_check(path: str) -> int:
    import zlib  # needed only for writing

    with open(path, "rb") as file:
        return zlib.crc32(file.read())


_CURRENT = "CURRENT"
_GENERATION = "generation-"


class Index:
    """The index in one state folder, for one embedding model (`model` "" and 0 dimensions: words only)."""

    def __init__(self, folder: str, model: str, dimensions: int) -> None:
        """Open or create nothing yet; `folder` is an absolute path."""
        self.folder = folder
        self.model = model
        self.dimensions = dimensions
        self.why_rebuilt = ""
        self._generation: Generation | None = None
        self._condemned = ""

    @property
    def generation(self) -> Generation | None:
        """The open generation, if there is a usable one."""
        return self._generation

    def look(self) -> Generation | None:
        """Follow changes of other processes; return the current generation, or None if no index is usable.

        `why_rebuilt` then has the reason.
        """
        name = self._current_name()
        if self._generation is not None and os.path.basename(self._generation.folder) != name:
            self.drop()
        if not name or name == self._condemned:
            self.why_rebuilt = self.why_rebuilt or "there was none"
            return None
        try:
            if self._generation is None:
                self._generation = Generation(os.path.join(self.folder, name), self.model, self.dimensions)
            else:
                with converting_damage():
                    self._generation.follow()
        except DamagedIndexError as error:
            self._condemn(name, str(error))
        except IndexUnavailableError as error:
            self.why_rebuilt = error.message
            self.drop()
        return self._generation

    def may_have_moments(self, root: str) -> bool:
        """Return whether any entry of the store at `root` has a `when`, without opening the whole index.

        True if unknown, as after a change of a folder: the next refresh finds out.
        """
        uri = catalog.file_uri(os.path.join(self.folder, self._current_name(), "catalog.db"), "mode=ro")
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as connection:
                query = "SELECT EXISTS (SELECT 1 FROM files WHERE \"when\" != '')"
                if connection.execute(query).fetchone()[0]:
                    return True
                folders = connection.execute("SELECT path, mtime_ns FROM folders").fetchall()
                return any(os.stat(os.path.join(root, path)).st_mtime_ns != mtime for path, mtime in folders)
        except (sqlite3.Error, OSError):
            return True

    def mark_damaged(self, why: str) -> None:
        """Stop using the current generation because it is broken; the next refresh rebuilds it."""
        if self._generation is not None:
            self._condemn(os.path.basename(self._generation.folder), why)

    def _condemn(self, name: str, why: str) -> None:
        """Never open a generation again, and keep other processes from it unless there is already a newer one."""
        self.why_rebuilt = why
        self._condemned = name
        self.drop()
        if self._current_name() == name:
            with suppress(OSError):  # if nothing can be written, at least this process does not use it
                os.unlink(os.path.join(self.folder, _CURRENT))

    def create(self, token: str) -> Generation:
        """Create an empty generation, not in use yet. Raises IndexUnavailableError."""
        folder = os.path.join(self.folder, _GENERATION + token)
        try:
            return Generation(folder, self.model, self.dimensions, create=True)
        except BaseException:
            _remove(folder)
            raise

    def make_folder(self) -> None:
        """Create the index folder, moving anything in its place aside. Raises IndexUnavailableError."""
        try:
            try:
                os.makedirs(self.folder, exist_ok=True)
            except FileExistsError:
                os.replace(self.folder, f"{self.folder}.damaged")
                os.makedirs(self.folder)
        except OSError as error:
            raise IndexUnavailableError(f"The index folder cannot be made: {error.strerror}.") from None

    def switch(self, generation: Generation) -> None:
        """Make a filled generation the current one and remove the others."""
        name = os.path.basename(generation.folder)
        before = self._current_name()
        temporary = os.path.join(self.folder, f".{_CURRENT}.{name}")
        with converting_damage():
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(name)
            current = os.path.join(self.folder, _CURRENT)
            if os.path.isdir(current):
                os.rename(current, os.path.join(self.folder, f"{_GENERATION}{name}.damaged"))  # for the sweep
            os.replace(temporary, current)
        self.drop()
        self._generation = generation
        self._sweep({name, before})

    def discard(self, generation: Generation) -> None:
        """Remove a generation that could not be filled."""
        generation.close()
        _remove(generation.folder)

    def _current_name(self) -> str:
        try:
            # Without a buffer: every query reads it.
            with open(os.path.join(self.folder, _CURRENT), "rb", buffering=0) as file:
                name = file.read().decode().strip()
        except (OSError, UnicodeDecodeError):
            return ""
        return name if name.startswith(_GENERATION) and os.path.basename(name) == name else ""

    def _sweep(self, keep: set[str]) -> None:
        """Remove old generations. Called under the index lock, so none is being filled."""
        for name in os.listdir(self.folder):
            if name.startswith(_GENERATION) and name not in keep:
                _remove(os.path.join(self.folder, name))

    def drop(self) -> None:
        """Close the current generation."""
        if self._generation is not None:
            self._generation.close()
            self._generation = None


def _remove(folder: str) -> None:
    """Remove a generation's folder, as far as possible."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
