"""Replay past queries on a copy of the index, before and after planned changes.

The copy is changed by the indexer and queried by the same code as the store, so its answers are those that the store would
give. Two things differ: the clock stands still, and the shown entries are not read from their files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3

from engram.adapters.files import scan as walk
from engram.adapters.files.durable.lock import FileLock
from engram.adapters.files.scan import FileStamp
from engram.adapters.index.damage import converting_damage
from engram.adapters.index.index import Generation
from engram.adapters.index.vectors import Cosines
from engram.adapters.index.writer import GenerationWriter
from engram.adapters.numeric import numpy_module
from engram.domain.consolidation.usefulness import Answered
from engram.domain.errors import NotFoundError, StoreError
from engram.domain.recall import ranking
from engram.domain.recall.ranking import THRESHOLD_KEY
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.catch_up import Indexer, too_many_dead
from engram.usecases.index.index_query import query_index
from engram.usecases.recall import rerank, search
from engram.usecases.recall.question import Question, criteria_for
from engram.usecases.recall.relevance import Relevance
from engram.usecases.store.store import Clock, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    import numpy

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.row_details import Link
    from engram.adapters.index.words import WordHits
    from engram.domain.settings import Settings
    from engram.usecases.recall.rerank import Neighbours, TokenMatch, TokenQuery
    from engram.usecases.recall.search import Candidate

    T = TypeVar("T")

_PREFIX = "rehearsal-"
_NAME = "generation-rehearsal"
_LOCK_SECONDS = 10.0
_LEFTOVER_NS = 86_400_000_000_000


class _StoppedClock(Clock):
    """A clock that stands still, so that memory strength is the same for all answers."""

    def __init__(self, nanoseconds: int) -> None:
        self._now = nanoseconds

    def nanoseconds(self) -> int:
        return self._now


class _PlannedFiles:
    """The store's files, overlaid with planned contents."""

    journaled = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self.planned: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes:
        if path not in self.planned:
            return self._store.files.read(path)
        content = self.planned[path]
        if content is None:
            raise NotFoundError(f"{path} does not exist in this plan.")
        return content

    def stamp(self, path: str) -> FileStamp:
        content = self.planned.get(path)
        found = None if content is not None else walk.stamp(self._store.files.absolute(path))
        return found or FileStamp(self._store.clock.nanoseconds(), len(content or b""), 0)


class _CopiedStore(Store):
    """A store on the copied index; its model caches the vectors of questions."""

    _cached: CachedModel | None = None

    @property
    def embedder(self) -> Embedder | None:
        """As `Store.embedder`, cached."""
        model = super().embedder
        if model is not None and (self._cached is None or self._cached.model is not model):
            self._cached = CachedModel(model)
        return self._cached if model is not None else None


class Replayer:
    """A private copy of a store's index that can be queried and changed."""

    def __init__(self, store: Store, folder: str) -> None:
        """Open the copy in `folder`."""
        self._store = store
        places = store.places._replace(state=folder)
        self._copy = _CopiedStore(
            places, store.settings, _StoppedClock(store.clock.nanoseconds()), store.caller
        )
        self._copy.original = store
        self._copy.meaning = store.meaning
        self._copy.scope = store.scope
        self._files = _PlannedFiles(store)
        self._copy.files = self._files  # type: ignore[assignment]
        index = store.index
        self._generation = Generation(os.path.join(folder, _NAME), index.model, index.dimensions)
        self._facts: dict[str, Facts] = {}
        self._asked = CachedGeneration(self._generation, self._facts)
        self._answers: dict[str, tuple[Answered, frozenset[int]]] = {}
        self._criteria = criteria_for(store, Question("-"))
        self._limit = int(store.settings.number("recall.limit"))

    def answers(self, queries: Iterable[str]) -> dict[str, Answered]:
        """Return the answer to each query, with the entries without which it would be weaker."""
        return self._ask_each(queries, self._answer, self._answers)

    def shown(self, queries: Iterable[str]) -> dict[str, list[Candidate]]:
        """Return the entries that each query shows, best first, with scores."""
        return self._ask_each(queries, self._search)

    def candidates(self, queries: Iterable[str]) -> dict[str, list[Candidate]]:
        """Return the candidates of each query, best first, including those below the threshold."""
        return self._ask_each(queries, self._candidates)

    def _ask_each(
        self, queries: Iterable[str], answer: Callable[[str], T], known: Collection[str] = ()
    ) -> dict[str, T]:
        """Return the answer to each query; those in `known` need no look-up."""
        asked = [*queries]
        with converting_damage():
            self._look_up([text for text in asked if text not in known])
            return {text: answer(text) for text in asked}

    def use_settings(self, settings: Settings) -> None:
        """Use these settings from now on."""
        self._copy.settings = settings
        self._answers.clear()

    def revise_hits(self, revised: Callable[[Hit], Hit]) -> None:
        """Replace each catalog row by the result of `revised`, until files are written."""
        self._asked.revise_hits(revised)
        self._answers.clear()

    def _look_up(self, queries: Sequence[str]) -> None:
        """Embed many questions in one batch, unless the model charges for use."""
        embedder = self._copy.embedder
        if embedder is not None and not embedder.costly and queries:
            self._asked.look_up(embedder.embed(queries))

    def write(self, contents: Mapping[str, bytes | None]) -> None:
        """Set the contents of files (None: deleted) and update the copy, rebuilding it when the real index would be."""
        if not contents:
            return
        self._files.planned.update(contents)
        generation = self._generation
        known = generation.catalog.known([*contents])
        self._update(generation, [*contents], known)
        if too_many_dead(generation, patient=True):
            every = generation.catalog.known()
            fresh = Generation(
                generation.folder + "-anew", generation.model, generation.dimensions, create=True
            )
            self._generation = fresh
            self._update(fresh, [*every], {})
            generation.close()
        self._asked = CachedGeneration(self._generation, self._facts)
        self._answers.clear()

    def set_facts(self, facts: Mapping[str, Facts]) -> None:
        """Override the status and confidence (thousandths) of entries, by path."""
        self._facts.update(facts)
        changed = self._asked.set_facts(facts)
        self._answers = {text: known for text, known in self._answers.items() if known[1].isdisjoint(changed)}

    def close(self) -> None:
        """Close the copy."""
        self._generation.close()
        self._copy.state.close()

    def _update(self, generation: Generation, paths: Sequence[str], known: Mapping[str, object]) -> None:
        with GenerationWriter(generation, bulk=not known and generation.next_row == 0) as writer:
            indexer = Indexer(self._copy, writer, dict(known), self._copy.clock.nanoseconds())  # type: ignore[arg-type]
            deleted = [path for path in paths if self._files.planned.get(path, b"") is None]
            for path in paths:
                if path not in deleted:
                    indexer.index_file(path, self._files.stamp(path))
            indexer.remove_files([path for path in deleted if path in known])
            indexer.finish()
            writer.commit({})

    def _answer(self, text: str) -> Answered:
        """Return the answer, the cached one unless one of its candidates has changed."""
        known = self._answers.get(text)
        if known is None:
            self._asked.looked_at.clear()
            answer = self._ask(text)
            known = self._answers[text] = answer, frozenset(self._asked.looked_at)
        return known[0]

    def _ask(self, text: str) -> Answered:
        shown = self._search(text)
        return Answered(tuple([hit.id for hit in shown]), _irreplaceable(shown))

    def _search(self, text: str) -> list[Candidate]:
        threshold = self._copy.settings.number(THRESHOLD_KEY)
        return search.worth_showing(self._candidates(text), threshold)[: self._limit]

    def _candidates(self, text: str) -> list[Candidate]:
        meaning = self._copy.embedder is not None
        return search.search_index(
            self._copy,
            self._asked,  # type: ignore[arg-type]
            text,
            self._criteria,
            self._limit,
            meaning=meaning,
            order=self._asked.order,
            match=self._asked.look,
        )


def _irreplaceable(shown: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the only entry of the strongest level, without which the answer would be weaker; empty if there are several."""
    levels = [ranking.STRENGTHS.index(search.strength_of([hit])) for hit in shown]
    best = min(levels, default=len(ranking.STRENGTHS))
    strongest = [hit.id for hit, level in zip(shown, levels, strict=True) if level == best]
    return tuple(strongest) if len(strongest) == 1 else ()


@contextlib.contextmanager
def open_replayer(store: Store) -> Iterator[Replayer]:
    """Copy the index for replays, and delete the copy afterwards. Raises StoreError if there is no index."""
    _sweep(store)
    folder = os.path.join(store.places.state, _PREFIX + store.clock.new_id())
    try:
        query_index(store, lambda generation: _copy(store, generation, folder))
        with contextlib.closing(Replayer(store, folder)) as replayer:
            yield replayer
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(store: Store, generation: Generation, folder: str) -> None:
    """Copy a generation under its writer lock."""
    target = os.path.join(folder, _NAME)
    with FileLock(os.path.join(store.index.folder, "writer.lock")).tried(_LOCK_SECONDS) as is_locked:
        if not is_locked:
            raise StoreError(
                "Another process is building the search index.", "Nothing was changed; try again."
            )
        catalogs = shutil.ignore_patterns("catalog.db*", ".*.lock")
        shutil.copytree(generation.folder, target, ignore=catalogs)
        with contextlib.closing(sqlite3.connect(os.path.join(target, "catalog.db"))) as copy:
            generation.catalog.connection.backup(copy)


def _sweep(store: Store) -> None:
    """Remove copies that a killed process left, after a day."""
    limit = store.clock.nanoseconds() - _LEFTOVER_NS
    with contextlib.suppress(OSError), os.scandir(store.places.state) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.stat(follow_symlinks=False).st_mtime_ns < limit:
                shutil.rmtree(entry.path, ignore_errors=True)


Facts = tuple[str, int]

_MEMORY = 256_000_000  # bytes of cosines to cache: 640 queries over 100,000 entries


class CachedGeneration:
    """A generation with cached look-ups, for an index that no other process changes.

    It stands in for the words, vectors and catalog of a generation in `search.search_index`. `looked_at` collects the rows
    read since it was cleared: a query that read none of the changed rows keeps its answer.
    """

    def __init__(self, generation: Generation, facts: Mapping[str, Facts]) -> None:
        """Load the catalog; `facts` override the status and confidence (thousandths) of entries, by path."""
        self._words, self._vectors = generation.words, generation.vectors
        self.words = self.catalog = self
        self.vectors = self if self._vectors is not None else None
        self.next_row, self.next_slot = generation.next_row, generation.next_slot
        self._most = _MEMORY // (4 * max(1, generation.next_row))
        self.has_links = generation.has_links
        self._ranks = generation.ranks()
        self._read_tokens, self._linked = generation.catalog.tokens, generation.catalog.linked
        self._hits = {hit.row: hit for hit in generation.catalog.select("1")}
        self._rows = {hit.path: row for row, hit in self._hits.items()}
        self._found: dict[tuple[tuple[str, ...], int], WordHits] = {}
        self._cosines: dict[bytes, Cosines] = {}
        self._terms: dict[str, list[str]] = {}
        self._closer: dict[str, dict[int, tuple[dict[int, float] | None, TokenMatch | None]]] = {}
        self._tokens: dict[int, bytes] = {}
        self._orders: dict[tuple[int, int, float], tuple[WordHits, Cosines | None, Relevance]] = {}
        self.looked_at: set[int] = set()
        self.set_facts(facts)

    def follow(self) -> bool:
        """Stay as it was made; return whether anything was read again: never."""
        return False

    def set_facts(self, facts: Mapping[str, Facts]) -> set[int]:
        """Override status and confidence; returns the rows that changed."""
        changed = set()
        for path, (status, confidence) in facts.items():
            row = self._rows.get(path, -1)
            hit = self._hits.get(row)
            if hit is not None and (hit.status, hit.confidence) != (status, confidence):
                self._hits[row] = hit._replace(status=status, confidence=confidence)
                changed.add(row)
        return changed

    def ranks(self, nodes: Iterable[str]) -> dict[str, float]:
        """Return the graph ranks of these entries, by id."""
        known = self._ranks
        return {node: known[node] for node in nodes if node in known} if known else {}

    def revise_hits(self, revised: Callable[[Hit], Hit]) -> None:
        """Replace each row by the result of `revised`."""
        self._hits = {row: revised(hit) for row, hit in self._hits.items()}

    def hits(self, rows: Iterable[int]) -> list[Hit]:
        """Return the catalog's hits of these rows."""
        asked = [*rows]
        self.looked_at.update(asked)
        known = self._hits
        return [known[row] for row in asked if row in known]

    def linked(self, rows: Sequence[int]) -> list[Link]:
        """As `Catalog.linked`, with overridden statuses."""
        found = self._linked(rows)
        self.looked_at.update([link.other for link in found])
        return [
            link._replace(status=self._hits[link.other].status) for link in found if link.other in self._hits
        ]

    def tokens(self, rows: Sequence[int]) -> dict[int, bytes]:
        """As `Catalog.tokens`, with b"" for rows that have none."""
        known = self._tokens
        new = [row for row in rows if row not in known]
        known |= dict.fromkeys(new, b"") | self._read_tokens(new)
        return {row: known[row] for row in rows}

    def order(
        self, found: WordHits, cosines: Cosines | None, allowed: set[int] | None, weight: float
    ) -> Relevance:
        """As `Relevance`, cached."""
        if allowed is not None:
            return Relevance(found, cosines, allowed, weight)
        key = id(found), id(cosines), weight
        _, _, order = self._orders.get(key, (found, cosines, None))
        if order is None:
            order = Relevance(found, cosines, None, weight)
            if len(self._orders) < self._most:
                self._orders[key] = found, cosines, order  # the reference keeps both ids from being reused
        return order

    def look(
        self, asked: TokenQuery, generation: Generation, near: Neighbours, rows: Sequence[int]
    ) -> dict[int, TokenMatch]:
        """As `rerank.match_tokens`, cached by question, row and neighbours."""
        known = self._closer.setdefault(asked.text, {})
        new = [row for row in rows if row not in known or known[row][0] != near.get(row)]
        if new:
            found = rerank.match_tokens(asked, generation, near, new)
            known |= {row: (near.get(row), found.get(row)) for row in new}
        return {row: closer for row in rows if (closer := known[row][1]) is not None}

    def weigh(self, words: Sequence[str], found: WordHits) -> list[tuple[float, bool]]:
        """As `Words.weigh`."""
        return self._words.weigh(words, found)

    def terms(self, text: str) -> list[str]:
        """As `Words.terms`."""
        known = self._terms.get(text)
        if known is None:
            known = self._terms[text] = self._words.terms(text)
        return known

    def search(self, terms: Sequence[str], limit: int) -> WordHits:
        """As `Words.search`."""
        key = (tuple(terms), limit)
        if key not in self._found:
            self._found[key] = self._words.search(terms, limit)
        return self._found[key]

    def look_up(self, vectors: numpy.ndarray) -> None:
        """Compute the cosines of query vectors (n x d) in one pass, as many as the cache can hold."""
        if self._vectors is None:
            return
        most = self._most - len(self._cosines)
        unknown = [vector for vector in vectors if vector.any() and vector.tobytes() not in self._cosines]
        wanted = unknown[: max(0, most)]
        if wanted:
            found = self._vectors.cosines_of(numpy_module().stack(wanted), self.next_row, self.next_slot)
            self._cosines.update(
                (vector.tobytes(), Cosines(every)) for vector, every in zip(wanted, found, strict=True)
            )

    def cosines(self, vector: numpy.ndarray, rows: int, slots: int) -> Cosines:
        """As `VectorFile.cosines`."""
        key = vector.tobytes()
        found = self._cosines.get(key)
        if found is None:
            assert self._vectors is not None
            found = self._vectors.cosines(vector, rows, slots, exact=True)
            if len(self._cosines) < self._most:
                self._cosines[key] = found
        return found


class CachedModel:
    """An `Embedder` that caches the vectors of questions and delegates everything else."""

    def __init__(self, model: Embedder) -> None:
        """Start with an empty cache."""
        self.model = model
        self._vectors: dict[str, numpy.ndarray] = {}

    def __getattr__(self, name: str) -> Any:
        """Delegate to the model."""
        return getattr(self.model, name)

    def embed(self, texts: Sequence[str]) -> numpy.ndarray:
        """As `Embedder.embed`."""
        known = self._vectors
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, self.model.embed(new), strict=True))
        found: numpy.ndarray = numpy_module().array([known[text] for text in texts])
        return found

    def embed_one(self, text: str) -> numpy.ndarray:
        """As `Embedder.embed_one`."""
        found = self._vectors.get(text)
        if found is None:
            found = self._vectors[text] = self.model.embed_one(text)
        return found
