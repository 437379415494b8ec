"""Update the index under its lock: index the changed files, or all files into a new generation."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from types import MappingProxyType

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.adapters.files.frontmatter import codec
from engram.adapters.heap_limits import trim
from engram.adapters.index.catalog import Entry, Known, Problem
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, damage_noticed
from engram.adapters.index.writer import GenerationWriter, NewText
from engram.domain.admission.secrets import find_secrets
from engram.domain.entry.lore import text_digest
from engram.domain.errors import EngramError, LoreFileError, NotFoundError, StoreError
from engram.domain.judgements.tally import day_of
from engram.domain.text.passages import passages
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index import file_scan, freshness
from engram.usecases.index.file_scan import Refreshed
from engram.usecases.index.note_text import indexed_text, markup_of
from engram.usecases.index.renames import follow_renames, follow_renames_by_git, note_seen
from engram.usecases.store import judgements
from engram.usecases.store.bulk_tallies import AT_ONCE, JudgedInBulk
from engram.usecases.store.gc_pause import no_collections
from engram.usecases.store.outside_changes import record_outside_changes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.files.scan import FileStamp
    from engram.adapters.index.index import Generation
    from engram.usecases.index.file_scan import Delta
    from engram.usecases.store.store import Store

# Read changed files for the index: bytes, codec, secret check, embedding; a bad file becomes a problem, not an error.

_BATCH = 512
_QUICK_SLICES = 16  # of texts: so many vectors are made at once even if the model is slow


class Indexer:
    """Feeds files to a writer in batches and counts them."""

    def __init__(
        self,
        store: Store,
        writer: GenerationWriter,
        known: dict[str, Known],
        now: int,
        judged: Collection[str] = (),
        owners: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`known` is what the catalog has of the files, `judged` are those to be read for their judgements; `now` is in ns.

        `owners` say for whom the judgements of folded entries count where that is not plain.
        """
        self._bulk = JudgedInBulk(store, owners)
        self.added = 0
        self.changed = 0
        self.problems = 0
        self._store = store
        self._writer = writer
        self._known = known
        self._judged = judged
        self._now = now
        self._texts: list[NewText] = []
        self._entries: list[Entry] = []
        self._touched: list[tuple[int, int, int, int, str]] = []
        self._dead: list[int] = []
        self._outside: list[str] = []
        self._allowed = store.allowed_secrets
        self._model = None if writer.other_model else store.model
        self._quick = _QUICK_SLICES

    def prepare(self, paths: Sequence[str]) -> None:
        """Read what is known of the judgements of the next files."""
        self._bulk.prepare(paths)

    def index_file(self, path: str, stamp: FileStamp) -> None:
        """Read one file and pass on what it holds now."""
        before = self._known.get(path)
        try:
            raw = self._read(path, stamp)
        except NotFoundError:
            return
        except StoreError as error:
            self.add_problem(path, error.message, error.hint, stamp)
            return
        digest = atomic.digest(raw)
        if before is not None and before.digest == digest and _needs_no_reading(before, stamp):
            if path in self._judged:
                self._take(path, stamp, digest, raw, before)
            else:
                self._touched.append((*stamp, self._now, path))
            return
        self.added += before is None
        self.changed += before is not None
        self._note_outside(path, digest)
        self._take(path, stamp, digest, raw, before)

    def add_problem(
        self, path: str, message: str, hint: str = "", stamp: FileStamp | None = None, line: int = 0
    ) -> None:
        """Record a file that cannot be recalled."""
        before = self._known.get(path)
        if before is not None and before.row is not None:
            self._dead.append(before.row)
        self.problems += 1
        found = Problem(path, line, message, hint)
        self._entries.append(
            Entry(path, stamp or (0, 0, 0), "" if stamp else message, self._now, problem=found)
        )

    def remove_files(self, paths: Sequence[str]) -> None:
        """Forget files that do not exist any more."""
        for path in paths:
            before = self._known.get(path)
            if before is not None and before.row is not None:
                self._dead.append(before.row)
            self._note_outside(path, "")
        self._writer.remove(paths)

    def finish(self) -> None:
        """Pass on what is left."""
        self._writer.drop_rows(self._dead)
        self._writer.put(self._entries)
        self._writer.touch(self._touched)
        self._flush()
        self._bulk.keep()
        if self._outside and self._store.files.journaled:
            record_outside_changes(self._store, self._outside)

    def _read(self, path: str, stamp: FileStamp) -> bytes:
        most = codec.most_bytes(self._store.categories)
        if stamp.size <= most:
            return self._store.files.read(path)
        if self._store.places.folder:
            raise StoreError(
                f"this file has {stamp.size:,} bytes; entries are small notes",
                "Split it with `engram import`, or move it out of the lore folder.",
            )
        raise StoreError(
            f"this note has {stamp.size:,} bytes, more than the {most:,} that are read, so it is not recalled",
            "Split it, or name it in .engramignore.",
        )

    def _take(self, path: str, stamp: FileStamp, digest: str, raw: bytes, before: Known | None) -> None:
        modified = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)
        try:
            file = codec.read(
                raw, path, self._store.categories, modified, self._store.parsed, self._store.first_seen(path)
            )
        except LoreFileError as error:
            self._bad(path, stamp, digest, error.reason, error.hint, error.line)
            return
        # Ids look like tokens; without them most files need no closer look.
        text = raw.decode().replace(file.lore.id, "").replace(file.lore.source_id or file.lore.id, "")
        findings = find_secrets(text, self._allowed)
        if findings:
            first = findings[0]
            message = f"it holds what looks like a secret ({first.rule}), so it is not recalled or committed"
            hint = "Take the secret out and renew it; a false alarm goes into `secrets.allow`."
            self._bad(path, stamp, digest, message, hint, first.line)
            return
        lore = self._bulk.of(file.lore)
        markup = markup_of(self._store, path, file)
        said = indexed_text(lore, markup)
        mark = text_digest(said)
        entry = Entry(path, stamp, digest, self._now, lore, file.adopted, None, None, mark, 0, markup)
        self._index(entry, said, before)

    def _index(self, entry: Entry, text: str, before: Known | None) -> None:
        if before is not None and before.row is not None:
            if before.text_digest == entry.text_digest:
                self._entries.append(entry._replace(row=before.row, vector_check=before.vector_check))
                return
            self._dead.append(before.row)
        self._texts.append(NewText(entry, text))
        if len(self._texts) >= _BATCH:
            self._flush()

    def _bad(self, path: str, stamp: FileStamp, digest: str, message: str, hint: str, line: int) -> None:
        self.add_problem(path, message, hint, stamp, line)
        self._entries[-1] = self._entries[-1]._replace(digest=digest)

    def _flush(self) -> None:
        texts = [new.text for new in self._texts]
        parts = [passages(len(text)) for text in texts]
        vectors, there, tokens = None, list[bool](), list[bytes]()
        if self._model is not None and texts:
            vectors, there, tokens = self._model.embed_available(texts, parts, self._quick)
            self._quick = 0
        counts = [1 if number == 1 else number + 1 for number in parts]
        self._writer.add(self._texts, vectors, counts, there, tokens)
        self._texts = []

    def _note_outside(self, path: str, digest: str) -> None:
        if self._store.own_writes.pop(path, None) != digest:
            self._outside.append(path)


def _needs_no_reading(before: Known, stamp: FileStamp) -> bool:
    """Test whether equal bytes mean an equal entry: one without an id yet takes its dates from the file's time."""
    return before.adopted or before.stamp[0] == stamp.mtime_ns


EXACT_LIMIT = 100
DEAD_SHARE = 0.02
_MOSTLY_NEW = 2  # times as many changed files as there are entries
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
        from engram.usecases.admission.incoming_quarantine import quarantine_pulled

        quarantine_pulled(store)
    if generation is None:
        return _rebuild(store, rebuild or store.index.why_rebuilt, progress)
    try:
        done = _update(store, generation, paths, sweep=thorough and not paths)
    except DamagedIndexError as error:
        store.index.mark_damaged(str(error))
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
            changes = freshness.reported_changes(store)
            delta = file_scan.scan_folders(store, generation, now, *changes, reported=True)
    small = generation.next_row - generation.dead <= freshness.UNRECORDED_SWEEP_LIMIT
    mark = judgements.refresh_if_possible(store, generation.judged)
    day = day_of(store.clock.now())
    judged = _collect_judged(store, generation, mark, day)
    delta = file_scan.with_judged(generation, delta, judged.paths)
    alive = generation.next_row - generation.dead
    if not delta.gone and len(delta.files) > max(QUICK_LIMIT, _MOSTLY_NEW * alive):
        return _rebuild(store, "most of the lore is new", None)  # in less than half the time
    if (
        in_step
        and delta.is_empty
        and (mark, day) == (generation.judged, generation.day)
        and (not sweep or (small and generation.head == freshness.head_commit(store)))
    ):
        return Refreshed()
    follow_renames(store, generation, delta)
    went = generation.catalog.ids_of(delta.gone) if delta.gone else set()
    with GenerationWriter(generation, bulk=False) as writer:
        done = _apply(store, writer, delta, now, None, judged.paths, generation.owners)
        owners = _follow_owners(store, generation, writer, generation.owners)
        if generation.day != day:
            writer.fade(day)
        swept = {"head": freshness.head_commit(store), "swept_ns": str(now)} if sweep else {}
        writer.commit(swept | {"judged": mark, "day": str(day), "owners": json.dumps(owners)})
    store.judgements.settle(judged.entries)
    note_seen(store)
    if went:
        _note_gone(store, generation, went)
    return done


class _Judged(NamedTuple):
    """Entries whose judgements changed since the index was told, and the files that count them."""

    entries: list[str]
    paths: set[str]


def _collect_judged(store: Store, generation: Generation, mark: str, day: int) -> _Judged:
    if generation.day != day:
        judgements.reach(store, day)
    elif mark == generation.judged:
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
    mark, pending = (
        judgements.refresh_if_possible(store),
        store.judgements.pending() if store.judged_mark else [],
    )
    generation = store.index.create(store.clock.new_id())
    writer = GenerationWriter(generation, bulk=True)
    try:
        with no_collections():
            delta = file_scan.scan_all(store, now)
            follow_renames_by_git(store, delta.files)
            done = _apply(store, writer, delta, now, progress)
            owners = _follow_owners(store, generation, writer, {})
        writer.commit(
            {
                "head": freshness.head_commit(store),
                "swept_ns": str(now),
                "rules": freshness.settings_digest(store),
                "judged": mark,
                "day": str(day_of(store.clock.now())),
                "owners": json.dumps(owners),
            }
        )
        store.judgements.settle(pending)
        store.index.switch(generation)
        note_seen(store)
        if store.model is not None:
            store.model.drop_unused()
        if generation.next_row > QUICK_LIMIT:
            trim()
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
    owners: Mapping[str, str] = MappingProxyType({}),
) -> Refreshed:
    paths = sorted(delta.files)
    indexer = Indexer(store, writer, delta.known, now, judged, owners)
    for number, path in enumerate(paths):
        if number % AT_ONCE == 0:
            indexer.prepare(paths[number : number + AT_ONCE])
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


def _follow_owners(
    store: Store, generation: Generation, writer: GenerationWriter, before: Mapping[str, str]
) -> dict[str, str]:
    """Count the judgements of folded entries for whom they count now, where that has changed; return who that is."""
    owners = writer.owners()
    moved = [one for one in {*owners, *before} if owners.get(one) != before.get(one)]
    if not moved:
        return owners
    catalog = generation.catalog
    paths = catalog.paths_of(moved)
    found = []
    for path, known in catalog.known(sorted(paths)).items():
        try:
            raw = store.files.read(path)
        except EngramError:
            raw = b""
        if atomic.digest(raw) != known.digest:  # it is read again, or forgotten, when that is noticed
            continue
        modified = datetime.fromtimestamp(known.stamp[0] / 1e9, UTC)
        file = codec.read(raw, path, store.categories, modified, store.parsed, store.first_seen(path))
        lore = judgements.with_tally(store, file.lore, owners=owners)
        found.append(
            Entry(
                path,
                *known[:3],
                lore,
                known.adopted,
                None,
                known.row,
                known.text_digest,
                known.vector_check,
                markup_of(store, path, file),
            )
        )
    writer.put(found, again=True)
    return owners


def too_many_dead(generation: Generation, *, patient: bool) -> bool:
    """Test whether removed texts distort BM25's statistics: at once in a small store, above 2 % in a large one.

    Or, if the word index never had them, whether many rows are of no use.

    In a large store a caller that waits for an answer (`patient`) does not wait for a rebuild, too: that is left to
    the process a command starts in the background, or to a thorough refresh.
    """
    alive = generation.next_row - generation.dead
    if patient and alive > QUICK_LIMIT:
        return False
    distorted = 0 if alive <= EXACT_LIMIT else alive * DEAD_SHARE
    return generation.words_dead > distorted or generation.dead > max(EXACT_LIMIT, alive * DEAD_SHARE)


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
