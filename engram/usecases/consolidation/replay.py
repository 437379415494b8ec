"""Asking past queries again, of the store as it is and as it would be.

A copy of the index is changed as the index itself would be, and asked by what every query goes through, at one moment
for both. So the answers are those that the store would give: no model of the ranking, but the ranking. Only the clock
is still, and the lore to be shown are not read once more from their files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3

from engram.adapters.files import scan as walk
from engram.adapters.files.durable.lock import FileLock
from engram.adapters.files.scan import FileStamp
from engram.adapters.index.damage import damage_noticed
from engram.adapters.index.generation import Generation
from engram.adapters.index.writer import GenerationWriter
from engram.domain.consolidation.usefulness import Answered
from engram.domain.errors import NotFoundError, StoreError
from engram.domain.recall import strength
from engram.domain.recall.ranking import THRESHOLD_KEY
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation.replay_index import RehearsedIndex
from engram.usecases.consolidation.replay_model import RehearsedModel
from engram.usecases.index.catch_up import too_many_dead
from engram.usecases.index.index_query import consult
from engram.usecases.index.indexing import Indexer
from engram.usecases.recall import search
from engram.usecases.recall.question import Question, criteria_for
from engram.usecases.store.clock import Clock
from engram.usecases.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.catalog import Hit
    from engram.domain.settings import Settings
    from engram.usecases.consolidation.replay_index import Facts
    from engram.usecases.recall.search import Candidate

_FOLDER = "rehearsal-"
_NAME = "generation-rehearsal"
_LOCK_SECONDS = 10.0
_LEFT_NS = 86_400_000_000_000


class _Still(Clock):
    """A clock that stands still: strength of memory must not differ between two answers."""

    def __init__(self, nanoseconds: int) -> None:
        self._now = nanoseconds

    def nanoseconds(self) -> int:
        return self._now


class _Planned:
    """The store's files, with those that are planned in place of what is there."""

    journaled = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self.planned: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes:
        if path not in self.planned:
            return self._store.files.read(path)
        content = self.planned[path]
        if content is None:
            raise NotFoundError(f"{path} is not there in this plan.")
        return content

    def stamp(self, path: str) -> FileStamp:
        content = self.planned.get(path)
        found = None if content is not None else walk.stamp(self._store.files.absolute(path))
        return found or FileStamp(self._store.clock.nanoseconds(), len(content or b""), 0)


class _Copy(Store):
    """A store whose model is asked the same questions again and again."""

    _rehearsed: RehearsedModel | None = None

    @property
    def embedder(self) -> Embedder | None:
        """As `Store.embedder`, with a memory."""
        model = super().embedder
        if model is not None and (self._rehearsed is None or self._rehearsed.model is not model):
            self._rehearsed = RehearsedModel(model)
        return self._rehearsed if model is not None else None


class Rehearsal:
    """A copy of a store's index that can be asked and changed."""

    def __init__(self, store: Store, folder: str) -> None:
        """`folder` has the copy."""
        self._store = store
        places = store.places._replace(state=folder)
        self._copy = _Copy(places, store.settings, _Still(store.clock.nanoseconds()), store.caller)
        self._copy.original = store
        self._copy.meaning = store.meaning
        self._copy.scope = store.scope
        self._files = _Planned(store)
        self._copy.files = self._files  # type: ignore[assignment]
        index = store.index
        self._generation = Generation(os.path.join(folder, _NAME), index.model, index.dimensions)
        self._facts: dict[str, Facts] = {}
        self._asked = RehearsedIndex(self._generation, self._facts)
        self._answers: dict[str, tuple[Answered, frozenset[int]]] = {}
        self._criteria = criteria_for(store, Question("-"))
        self._limit = int(store.settings.number("recall.limit"))

    def answers(self, queries: Iterable[str]) -> dict[str, Answered]:
        """What each query shows, and the lore without which its answer would be weaker."""
        asked = [*queries]
        with damage_noticed():
            self._look_up([text for text in asked if text not in self._answers])
            return {text: self._answer(text) for text in asked}

    def shown(self, queries: Iterable[str]) -> dict[str, list[Candidate]]:
        """What each query shows, the best first, with scores."""
        asked = [*queries]
        with damage_noticed():
            self._look_up(asked)
            return {text: self._shown(text) for text in asked}

    def candidates(self, queries: Iterable[str]) -> dict[str, list[Candidate]]:
        """What each query may show, the best first, also what is too weak."""
        asked = [*queries]
        with damage_noticed():
            self._look_up(asked)
            return {text: self._candidates(text) for text in asked}

    def tune(self, settings: Settings) -> None:
        """Ask from now on as with these settings."""
        self._copy.settings = settings
        self._answers.clear()

    def revise(self, revised: Callable[[Hit], Hit]) -> None:
        """Have the catalog's line of each lore be what `revised` makes of it, until something is written."""
        self._asked.revise(revised)
        self._answers.clear()

    def _look_up(self, queries: Sequence[str]) -> None:
        """Find the vectors of many questions at once, where that costs nothing but time."""
        embedder = self._copy.embedder
        if embedder is not None and not embedder.costly and queries:
            self._asked.look_up(embedder.embed(queries))

    def write(self, contents: Mapping[str, bytes | None]) -> None:
        """Have these files these contents (None: there is none). As in the index itself, a small one is made anew."""
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
        self._asked = RehearsedIndex(self._generation, self._facts)
        self._answers.clear()

    def set_facts(self, facts: Mapping[str, Facts]) -> None:
        """Have lore this status and confidence (thousandths), by path, and nothing else changed."""
        self._facts.update(facts)
        changed = self._asked.set_facts(facts)
        self._answers = {text: known for text, known in self._answers.items() if known[1].isdisjoint(changed)}

    def close(self) -> None:
        """Close the copy."""
        self._generation.close()
        self._copy.state.close()

    def _update(self, generation: Generation, paths: Sequence[str], known: Mapping[str, object]) -> None:
        writer = GenerationWriter(generation, bulk=not known and generation.next_row == 0)
        try:
            indexer = Indexer(self._copy, writer, dict(known), self._copy.clock.nanoseconds())  # type: ignore[arg-type]
            gone = [path for path in paths if self._files.planned.get(path, b"") is None]
            for path in paths:
                if path not in gone:
                    indexer.index_file(path, self._files.stamp(path))
            indexer.remove_files([path for path in gone if path in known])
            indexer.finish()
            writer.commit({})
        except BaseException:
            writer.abandon()
            raise

    def _answer(self, text: str) -> Answered:
        """The answer, found anew unless it is known and none of the lore that it was chosen from has changed."""
        known = self._answers.get(text)
        if known is None:
            self._asked.looked_at.clear()
            answer = self._found(text)
            known = self._answers[text] = answer, frozenset(self._asked.looked_at)
        return known[0]

    def _found(self, text: str) -> Answered:
        shown = self._shown(text)
        return Answered(tuple([hit.id for hit in shown]), _needed(shown))

    def _shown(self, text: str) -> list[Candidate]:
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


def _needed(shown: Sequence[Candidate]) -> tuple[str, ...]:
    """The lore without which the answer of these would be of a lesser strength."""
    levels = [strength.STRENGTHS.index(search.strength_of([hit])) for hit in shown]
    best = min(levels, default=len(strength.STRENGTHS))
    strongest = [hit.id for hit, level in zip(shown, levels, strict=True) if level == best]
    return tuple(strongest) if len(strongest) == 1 else ()


@contextlib.contextmanager
def rehearsing(store: Store) -> Iterator[Rehearsal]:
    """A rehearsal whose copy is gone afterwards. Raises StoreError where there is no index to copy."""
    _sweep(store)
    folder = os.path.join(store.places.state, _FOLDER + store.clock.new_id())
    try:
        consult(store, lambda generation: _copy(store, generation, folder))
        rehearsal = Rehearsal(store, folder)
        try:
            yield rehearsal
        finally:
            rehearsal.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(store: Store, generation: Generation, folder: str) -> None:
    """Copy a generation while nobody writes to it."""
    target = os.path.join(folder, _NAME)
    lock = FileLock(os.path.join(store.index.folder, "writer.lock"))
    if not lock.acquire(_LOCK_SECONDS):
        raise StoreError("Another process is making the search index.", "Nothing was changed; try again.")
    try:
        catalogs = shutil.ignore_patterns("catalog.db*", ".*.lock")
        shutil.copytree(generation.folder, target, ignore=catalogs)
        with contextlib.closing(sqlite3.connect(os.path.join(target, "catalog.db"))) as copy:
            generation.catalog.connection.backup(copy)
    finally:
        lock.release()


def _sweep(store: Store) -> None:
    """Remove what a killed process left, a day later."""
    limit = store.clock.nanoseconds() - _LEFT_NS
    with contextlib.suppress(OSError), os.scandir(store.places.state) as entries:
        for entry in entries:
            if entry.name.startswith(_FOLDER) and entry.stat(follow_symlinks=False).st_mtime_ns < limit:
                shutil.rmtree(entry.path, ignore_errors=True)
