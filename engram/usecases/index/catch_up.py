"""Update the index under its lock: index the changed files, or all files into a new generation."""

from __future__ import annotations

import contextlib
import gc
import os
import sqlite3
from collections.abc import Callable

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.files.durable.lock import FileLock
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, damage_noticed
from engram.adapters.index.malloc_trim import give_back
from engram.adapters.index.writer import GenerationWriter
from engram.domain.errors import EngramError
from engram.domain.judgements.tally import day_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index import file_scan, freshness
from engram.usecases.index.file_scan import Refreshed
from engram.usecases.index.indexing import Indexer
from engram.usecases.store import judgements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.index.file_scan import Delta
    from engram.usecases.store.store import Store

EXACT_LIMIT = 100
DEAD_SHARE = 0.02
QUICK_LIMIT = 1000  # entries, which a rebuild indexes in a quarter of a second
_LOCK_SECONDS = 2.0

Progress = Callable[[int, int], None]


def catch_up(
    store: Store,
    thorough: bool,
    paths: Sequence[str],
    rebuild: str,
    progress: Progress | None,
    *,
    patient: bool,
) -> Refreshed:
    """Do what `refresh` found necessary; wait a little for another process that is doing it.

    A `patient` caller is waiting for an answer: a large index is not rebuilt before that. Raises
    IndexUnavailableError if the index cannot be written.
    """
    with _IndexLock(store) as lock:
        if not lock.held:
            return Refreshed(fresh=False)
        try:
            with freshness.updating(store, swept=thorough, partly=bool(paths)):
                return _catch_up(store, thorough, paths, rebuild, progress, patient)
        except EmbeddingError as error:
            store.give_up_meaning(error)
            return _catch_up(store, thorough, (), rebuild, progress, patient)


def _catch_up(
    store: Store,
    thorough: bool,
    paths: Sequence[str],
    rebuild: str,
    progress: Progress | None,
    patient: bool,
) -> Refreshed:
    generation = None if rebuild else store.index.look()
    if not paths and (generation is None or freshness.is_moved_by_others(store, generation)):
        from engram.usecases.admission.pulled_commits import quarantine_pulled

        quarantine_pulled(store)
    if generation is None:
        return _rebuild(store, rebuild or store.index.why_rebuilt, progress)
    try:
        done = _update(store, generation, paths, sweep=thorough and not paths)
    except DamagedIndexError as error:
        store.index.damaged(str(error))
        return _rebuild(store, str(error), progress)
    if too_many_dead(generation, patient=patient):
        _rebuild(store, "much lore was changed or removed", None)
    return done


def _update(store: Store, generation: Generation, paths: Sequence[str], *, sweep: bool) -> Refreshed:
    now = store.clock.nanoseconds()
    with damage_noticed():
        in_step = generation.check_in_step()
        if paths:
            delta = file_scan.scan_files(store, generation, paths)
        elif sweep:
            delta = file_scan.sweep(store, generation, now)
        else:
            delta = file_scan.scan_folders(store, generation, now, *freshness.reported_changes(store))
    small = generation.next_row - generation.dead <= freshness.UNRECORDED_SWEEP_LIMIT
    mark = judgements.refresh(store)
    day = day_of(store.clock.now())
    judged = _judged_since(store, generation, mark)
    delta = file_scan.with_judged(generation, delta, judged.paths)
    if (
        in_step
        and delta.is_empty
        and (mark, day) == (generation.judged, generation.day)
        and (not sweep or (small and generation.head == freshness.head_commit(store)))
    ):
        return Refreshed()
    went = generation.catalog.ids_of(delta.gone) if delta.gone else set()
    writer = GenerationWriter(generation, bulk=False)
    try:
        done = _apply(store, writer, delta, now, None, judged.paths)
        if generation.day != day:
            writer.fade(day)
        swept = {"head": freshness.head_commit(store), "swept_ns": str(now)} if sweep else {}
        writer.commit(swept | {"judged": mark, "day": str(day)})
    except BaseException:
        writer.abandon()
        raise
    store.judgements.settle(judged.entries)
    if went:
        _note_gone(store, generation, went)
    return done


class _Judged(NamedTuple):
    """Entries whose judgements changed since the index was told, and the files that count them."""

    entries: list[str]
    paths: set[str]


def _judged_since(store: Store, generation: Generation, mark: str) -> _Judged:
    if mark == generation.judged:
        return _Judged([], set())
    entries = store.judgements.pending() if mark else sorted(store.judgements.entries())
    return _Judged(entries, generation.catalog.paths_of(entries) if entries else set())


def _note_gone(store: Store, generation: Generation, ids: set[str]) -> None:
    """Record the ids that disappeared, for programs that keep a copy; a file that only moved is still there."""
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        gone = ids - generation.catalog.present(sorted(ids))
        store.state.tombstones.add(gone, store.clock.now().timestamp())


def _rebuild(store: Store, why: str, progress: Progress | None) -> Refreshed:
    try:
        return _build(store, why, progress)
    except DamagedIndexError as error:  # a new index is not damaged: the disk fails
        raise IndexUnavailableError(f"The search index cannot be built: {error}.") from error


def _build(store: Store, why: str, progress: Progress | None) -> Refreshed:
    now = store.clock.nanoseconds()
    mark, pending = judgements.refresh(store), store.judgements.pending() if store.judged_mark else []
    generation = store.index.create(store.clock.new_id())
    writer = GenerationWriter(generation, bulk=True)
    try:
        with no_collections():
            done = _apply(store, writer, file_scan.scan_all(store, now), now, progress)
        writer.commit(
            {
                "head": freshness.head_commit(store),
                "swept_ns": str(now),
                "rules": freshness.settings_digest(store),
                "judged": mark,
                "day": str(day_of(store.clock.now())),
            }
        )
        store.judgements.settle(pending)
        store.index.switch(generation)
        if store.model is not None:
            store.model.drop_unused()
        if generation.next_row > QUICK_LIMIT:
            give_back()
    except BaseException:
        writer.abandon()
        store.index.discard(generation)
        raise
    return done._replace(rebuilt=why)


def _apply(
    store: Store,
    writer: GenerationWriter,
    delta: Delta,
    now: int,
    progress: Progress | None,
    judged: Collection[str] = (),
) -> Refreshed:
    indexer = Indexer(store, writer, delta.known, now, judged)
    for number, path in enumerate(sorted(delta.files)):
        indexer.index_file(path, delta.files[path])
        if progress is not None and number % 64 == 0:
            progress(number, len(delta.files))
    for path, why in delta.scan_problems.items():
        indexer.add_problem(path, why)
    indexer.remove_files(delta.gone)
    indexer.finish()
    writer.folders(delta.folders, delta.gone_folders)
    if progress is not None:
        progress(len(delta.files), len(delta.files))
    return Refreshed(indexer.added, indexer.changed, len(delta.gone), indexer.problems)


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """Switch off garbage collection for code that makes no cycles: it would take a twentieth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def too_many_dead(generation: Generation, *, patient: bool) -> bool:
    """Test whether removed texts distort BM25's statistics: at once in a small store, above 2 % in a large one.

    In a large store a caller that waits for an answer (`patient`) does not wait for a rebuild, too: that is left to
    the process a command starts in the background, or to a thorough refresh.
    """
    alive = generation.next_row - generation.dead
    if patient and alive > QUICK_LIMIT:
        return False
    return generation.dead > 0 and (alive <= EXACT_LIMIT or generation.dead > alive * DEAD_SHARE)


class _IndexLock:
    """The lock for changing the index; waits a little, then lets the caller use the index as it is."""

    def __init__(self, store: Store) -> None:
        store.index.make_folder()
        self._lock = FileLock(os.path.join(store.index.folder, "writer.lock"))

    def __enter__(self) -> FileLock:
        try:
            self._lock.acquire(_LOCK_SECONDS)
        except OSError as error:
            raise IndexUnavailableError(f"The index cannot be locked: {error.strerror}.") from None
        return self._lock

    def __exit__(self, *_: object) -> None:
        self._lock.release()
