"""Bringing the index in step with the files: one path, whether one file changed or all are new.

A rebuild is a refresh from nothing. Changes are noticed by the times of folders (cheap, every
time) and by the times of all files (a sweep: when there are few, when asked, or when due).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.files import atomic
from engram.adapters.files import scan as walk
from engram.adapters.files.lock import FileLock
from engram.adapters.files.scan import FileStamp, Scan
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, damage_noticed
from engram.adapters.index.writer import GenerationWriter
from engram.domain.errors import GitError
from engram.usecases.indexing import Indexer

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Known
    from engram.adapters.index.generation import Generation
    from engram.usecases.store import Store

RACY_NS = 2_000_000_000
SWEEP_ALWAYS = 400
SWEEP_NS_PER_FILE = 5_000
SWEEP_PATIENCE = 20
COLD_SWEEP_LIMIT = 12_000
EXACT_LIMIT = 100
DEAD_SHARE = 0.02
_LOCK_SECONDS = 2.0

Progress = Callable[[int, int], None]


class Delta(NamedTuple):
    """What differs between disk and index: files to look at, files gone, folders' new times, folders gone."""

    files: dict[str, FileStamp]
    gone: list[str]
    folders: dict[str, int]
    gone_folders: list[str]
    scan_problems: dict[str, str]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.files or self.gone or self.folders or self.gone_folders or self.scan_problems)


class Refreshed(NamedTuple):
    """What a refresh did. `fresh` is False where another process holds the index and this one did not wait."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: int = 0
    rebuilt: str = ""
    fresh: bool = True


def refresh(
    store: Store,
    *,
    thorough: bool = True,
    paths: Sequence[str] = (),
    rebuild: str = "",
    progress: Progress | None = None,
) -> Refreshed:
    """Bring the index up to date.

    `thorough` looks at every file's time; otherwise only as far as is cheap. `paths` are files known
    to have changed, and only they are looked at. `rebuild` (a reason) starts from nothing.
    Raises IndexUnavailableError where the index cannot be written.
    """
    with store.lock:
        just_opened = store.index.generation is None
        generation = None if rebuild else store.index.look()
        if generation is not None and just_opened and generation.rules != _rules(store):
            # Only when it is opened: two processes with different settings must not undo each other's work.
            rebuild = "the settings changed"
        elif generation is not None and not paths:
            sweep = thorough or _sweep_due(store, generation)
            if not sweep and not _folders_changed(store, generation):
                return Refreshed()
        with _IndexLock(store) as lock:
            if not lock.held:
                return Refreshed(fresh=False)
            try:
                return _refresh_locked(store, thorough, paths, rebuild, progress)
            except EmbeddingError as error:
                store.give_up_meaning(error)
                return _refresh_locked(store, thorough, (), rebuild, progress)


def _refresh_locked(
    store: Store, thorough: bool, paths: Sequence[str], rebuild: str, progress: Progress | None
) -> Refreshed:
    generation = None if rebuild else store.index.look()
    if generation is None:
        return _rebuild(store, rebuild or store.index.why_rebuilt, progress)
    try:
        done = _update(store, generation, paths, sweep=thorough or _sweep_due(store, generation))
    except DamagedIndexError as error:
        store.index.damaged(str(error))
        return _rebuild(store, str(error), progress)
    if _too_many_dead(generation):
        _rebuild(store, "many lore were changed or removed", None)
    return done


def _update(store: Store, generation: Generation, paths: Sequence[str], *, sweep: bool) -> Refreshed:
    now = store.clock.nanoseconds()
    sweep = sweep and not paths
    with damage_noticed():
        in_step = generation.check_in_step()
        if paths:
            delta, known = _named_files(store, generation, paths)
        else:
            delta, known = (
                _sweep(store, generation, now) if sweep else _changed_folders(store, generation, now)
            )
    small = generation.next_row - generation.dead <= SWEEP_ALWAYS
    if in_step and delta.is_empty and (not sweep or (small and generation.head == _head(store))):
        return Refreshed()
    writer = GenerationWriter(generation, bulk=False)
    try:
        done = _apply(store, writer, delta, known, now, None)
        writer.commit({"head": _head(store), "swept_ns": str(now)} if sweep else {})
    except BaseException:
        writer.abandon()
        raise
    return done


def _rebuild(store: Store, why: str, progress: Progress | None) -> Refreshed:
    try:
        return _build(store, why, progress)
    except DamagedIndexError as error:  # a new one is not damaged: the disk refuses it
        raise IndexUnavailableError(f"The search index cannot be built: {error}.") from error


def _build(store: Store, why: str, progress: Progress | None) -> Refreshed:
    now = store.clock.nanoseconds()
    generation = store.index.create(store.clock.new_id())
    writer = GenerationWriter(generation, bulk=True)
    try:
        found = _scan(store)
        delta = Delta(found.files, [], _safe_times(found.folders, now), [], found.problems)
        done = _apply(store, writer, delta, {}, now, progress)
        writer.commit({"head": _head(store), "swept_ns": str(now), "rules": _rules(store)})
        store.index.switch(generation)
    except BaseException:
        writer.abandon()
        store.index.discard(generation)
        raise
    return done._replace(rebuilt=why)


def _apply(
    store: Store,
    writer: GenerationWriter,
    delta: Delta,
    known: dict[str, Known],
    now: int,
    progress: Progress | None,
) -> Refreshed:
    indexer = Indexer(store, writer, known, now)
    for number, path in enumerate(sorted(delta.files)):
        indexer.look_at(path, delta.files[path])
        if progress is not None and number % 64 == 0:
            progress(number, len(delta.files))
    for path, why in delta.scan_problems.items():
        indexer.problem(path, why)
    indexer.gone(delta.gone)
    indexer.finish()
    writer.folders(delta.folders, delta.gone_folders)
    if progress is not None:
        progress(len(delta.files), len(delta.files))
    return Refreshed(indexer.added, indexer.changed, len(delta.gone), indexer.problems)


def _folders_changed(store: Store, generation: Generation) -> bool:
    stat = os.stat
    try:
        for folder, known in generation.absolute_folders(store.places.root):
            if stat(folder).st_mtime_ns != known:
                return True
    except OSError:
        return True
    return not generation.folders and os.path.isdir(f"{store.places.root}/{store.places.folder}")


def _sweep_due(store: Store, generation: Generation) -> bool:
    """Whether to look at every file before answering: when there are few, or nobody has asked for a while.

    A process that asks again and again is not made to wait each time; a person who edited a file in between is
    answered from it. In a large store the look comes after the answer.
    """
    count = generation.next_row - generation.dead
    if count <= SWEEP_ALWAYS or generation.head != _head(store):
        return True
    idle_since = max(generation.swept_ns, store.asked_ns)
    cost = count * SWEEP_NS_PER_FILE
    return count <= COLD_SWEEP_LIMIT and store.clock.nanoseconds() - idle_since > cost * SWEEP_PATIENCE


def _sweep(store: Store, generation: Generation, now: int) -> tuple[Delta, dict[str, Known]]:
    found = _scan(store)
    known = generation.catalog.known()
    return _compare(generation, found, known, now, set(known), set(generation.folders)), known


def _scan(store: Store) -> Scan:
    found = walk.scan(store.places.root, store.places.folder)
    if found.leftovers:
        store.files.sweep(found.leftovers)
    return found


def _changed_folders(store: Store, generation: Generation, now: int) -> tuple[Delta, dict[str, Known]]:
    """Read again only the folders whose time changed, and the new ones below them."""
    root, top = store.places.root, store.places.folder
    found = Scan({}, {}, {}, [])
    looked: set[str] = set()
    pending = [f for f, t in generation.folders.items() if walk.folder_mtime(f"{root}/{f}") != t] or [top]
    while pending:
        folder = pending.pop()
        if folder not in looked:
            looked.add(folder)
            inner = walk.scan_folder(root, folder, folder == top, found)
            pending += [sub for sub in inner if sub not in generation.folders]
    if found.leftovers:
        store.files.sweep(found.leftovers)
    paths = {path for folder in looked for path in generation.catalog.children(folder)}
    known = generation.catalog.known(sorted(paths | set(found.files)))
    return _compare(generation, found, known, now, paths, looked), known


def _named_files(
    store: Store, generation: Generation, paths: Sequence[str]
) -> tuple[Delta, dict[str, Known]]:
    stamps = {path: walk.stamp(store.files.absolute(path)) for path in paths}
    there = {path: stamp for path, stamp in stamps.items() if stamp is not None}
    gone = [path for path in paths if path not in there]
    return Delta(there, gone, {}, [], {}), generation.catalog.known(paths)


def _compare(
    generation: Generation, found: Scan, known: dict[str, Known], now: int, paths: set[str], folders: set[str]
) -> Delta:
    changed = {path: stamp for path, stamp in found.files.items() if _differs(stamp, known.get(path))}
    gone = sorted(paths - set(found.files) - set(found.problems))
    times = _safe_times(found.folders, now)
    moved = {folder: time for folder, time in times.items() if generation.folders.get(folder) != time}
    problems = {p: why for p, why in found.problems.items() if p not in known or known[p].digest != why}
    return Delta(
        changed, gone, moved, sorted(folders & set(generation.folders) - set(found.folders)), problems
    )


def _differs(stamp: FileStamp, known: Known | None) -> bool:
    """Whether a file must be read again: new, another stamp, or changed so lately that its time may not show it."""
    return known is None or stamp != known.stamp or known.seen_ns - stamp.mtime_ns < RACY_NS


def _safe_times(folders: dict[str, int], now: int) -> dict[str, int]:
    """Folder times, those of the last two seconds as 0: a second change may not move them, so look again."""
    return {folder: 0 if now - mtime < RACY_NS else mtime for folder, mtime in folders.items()}


def _too_many_dead(generation: Generation) -> bool:
    """Whether removed texts distort BM25's statistics: at once in a small store, above 2 % in a large one."""
    alive = generation.next_row - generation.dead
    return generation.dead > 0 and (alive <= EXACT_LIMIT or generation.dead > alive * DEAD_SHARE)


def _rules(store: Store) -> str:
    """A digest of the settings that decide what a file says, "" for the defaults."""
    rules = [store.settings.get("store.categories"), store.settings.get("secrets.allow")]
    return atomic.digest(repr(rules).encode()) if any(rules) else ""


def _head(store: Store) -> str:
    repository = store.places.repository
    if repository is None:
        return ""
    from engram.adapters.git.layout import read_head

    try:
        return read_head(repository).oid or ""
    except GitError:
        return ""  # files can be found whatever is wrong with their history


class _IndexLock:
    """The lock of whoever changes the index; waits a little, then lets the caller use what there is."""

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


def leftovers(store: Store, names: Iterable[str]) -> list[str]:
    """Temporaries that no journal line announces and that are older than ten minutes: of killed writers."""
    limit = store.clock.nanoseconds() - 600 * 1_000_000_000
    found = [os.path.join(store.places.root, *name.split("/")) for name in names]
    stamps = {path: walk.stamp(path) for path in found}
    return [path for path, stamp in stamps.items() if stamp is not None and stamp.mtime_ns < limit]
