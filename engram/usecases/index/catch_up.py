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
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, converting_damage
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
from engram.usecases.index.renames import follow_renames, follow_renames_by_git, record_seen_commit
from engram.usecases.store import judgements
from engram.usecases.store.bulk_tallies import AT_ONCE, BulkTallies
from engram.usecases.store.gc_pause import no_collections
from engram.usecases.store.outside_changes import record_outside_changes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.files.scan import FileStamp
    from engram.adapters.index.index import Generation
    from engram.usecases.index.file_scan import Delta
    from engram.usecases.store.store import Store

_BATCH = 512
_QUICK_SLICES = 16  # slices of texts that are embedded at once even if the model is slow


class Indexer:
    """Reads files, parses and checks them, and passes them to a writer in batches. A bad file becomes a problem, not an error."""

    def __init__(
        self,
        store: Store,
        writer: GenerationWriter,
        known: dict[str, Known],
        now: int,
        judged: Collection[str] = (),
        owners: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Index into `writer`: `known` are the files in the catalog, `judged` those with new judgements; `now` is in ns.

        `owners` maps folded entries to the entries that their judgements count for, unless that is obvious.
        """
        self._bulk = BulkTallies(store, owners)
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
        self._changed_outside: list[str] = []
        self._allowed = store.allowed_secrets
        self._model = None if writer.other_model else store.model
        self._quick = _QUICK_SLICES

    def prepare(self, paths: Sequence[str]) -> None:
        """Load the judgements of the next files."""
        self._bulk.prepare(paths)

    def index_file(self, path: str, stamp: FileStamp) -> None:
        """Read one file, and pass on its entry or problem if it changed."""
        before = self._known.get(path)
        try:
            raw = self._read(path, stamp)
        except NotFoundError:
            return
        except StoreError as error:
            self.add_problem(path, error.message, error.hint, stamp)
            return
        digest = atomic.digest(raw)
        if before is not None and before.digest == digest and _is_up_to_date(before, stamp):
            if path in self._judged:
                self._parse(path, stamp, digest, raw, before)
            else:
                self._touched.append((*stamp, self._now, path))
            return
        self.added += before is None
        self.changed += before is not None
        self._note_outside_change(path, digest)
        self._parse(path, stamp, digest, raw, before)

    def add_problem(
        self, path: str, message: str, hint: str = "", stamp: FileStamp | None = None, line: int = 0
    ) -> None:
        """Record a file that cannot be recalled."""
        before = self._known.get(path)
        if before is not None and before.row is not None:
            self._dead.append(before.row)
        self.problems += 1
        problem = Problem(path, line, message, hint)
        self._entries.append(
            Entry(path, stamp or (0, 0, 0), "" if stamp else message, self._now, problem=problem)
        )

    def remove_files(self, paths: Sequence[str]) -> None:
        """Remove files that no longer exist."""
        for path in paths:
            before = self._known.get(path)
            if before is not None and before.row is not None:
                self._dead.append(before.row)
            self._note_outside_change(path, "")
        self._writer.remove(paths)

    def finish(self) -> None:
        """Pass on the remaining entries and texts."""
        self._writer.drop_rows(self._dead)
        self._writer.put(self._entries)
        self._writer.touch(self._touched)
        self._flush()
        self._bulk.keep()
        if self._changed_outside and self._store.files.journaled:
            record_outside_changes(self._store, self._changed_outside)

    def _read(self, path: str, stamp: FileStamp) -> bytes:
        limit = codec.max_file_bytes(self._store.categories)
        if stamp.size <= limit:
            return self._store.files.read(path)
        if self._store.places.folder:
            raise StoreError(
                f"this file has {stamp.size:,} bytes; entries are small notes",
                "Split it with `engram import`, or move it out of the lore folder.",
            )
        raise StoreError(
            f"this note has {stamp.size:,} bytes, more than the {limit:,} that are read, so it is not recalled",
            "Split it, or name it in .engramignore.",
        )

    def _parse(self, path: str, stamp: FileStamp, digest: str, raw: bytes, before: Known | None) -> None:
        modified = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)
        try:
            file = codec.read(
                raw, path, self._store.categories, modified, self._store.parsed, self._store.first_seen(path)
            )
        except LoreFileError as error:
            self._add_bad(path, stamp, digest, error.reason, error.hint, error.line)
            return
        # Ids look like tokens; without them, most files need no closer check.
        checked = raw.decode().replace(file.lore.id, "").replace(file.lore.source_id or file.lore.id, "")
        findings = find_secrets(checked, self._allowed)
        if findings:
            first = findings[0]
            message = f"it holds what looks like a secret ({first.rule}), so it is not recalled or committed"
            hint = "Take the secret out and renew it; a false alarm goes into `secrets.allow`."
            self._add_bad(path, stamp, digest, message, hint, first.line)
            return
        lore = self._bulk.of(file.lore)
        markup = markup_of(self._store, path, file)
        text = indexed_text(lore, markup)
        text_mark = text_digest(text)
        entry = Entry(path, stamp, digest, self._now, lore, file.adopted, None, None, text_mark, 0, markup)
        self._index(entry, text, before)

    def _index(self, entry: Entry, text: str, before: Known | None) -> None:
        if before is not None and before.row is not None:
            if before.text_digest == entry.text_digest:
                self._entries.append(entry._replace(row=before.row, vector_check=before.vector_check))
                return
            self._dead.append(before.row)
        self._texts.append(NewText(entry, text))
        if len(self._texts) >= _BATCH:
            self._flush()

    def _add_bad(self, path: str, stamp: FileStamp, digest: str, message: str, hint: str, line: int) -> None:
        self.add_problem(path, message, hint, stamp, line)
        self._entries[-1] = self._entries[-1]._replace(digest=digest)

    def _flush(self) -> None:
        texts = [new.text for new in self._texts]
        parts = [passages(len(text)) for text in texts]
        vectors, available, tokens = None, list[bool](), list[bytes]()
        if self._model is not None and texts:
            vectors, available, tokens = self._model.embed_available(texts, parts, self._quick)
            self._quick = 0
        counts = [1 if number == 1 else number + 1 for number in parts]
        self._writer.add(self._texts, vectors, counts, available, tokens)
        self._texts = []

    def _note_outside_change(self, path: str, digest: str) -> None:
        if self._store.own_writes.pop(path, None) != digest:
            self._changed_outside.append(path)


def _is_up_to_date(before: Known, stamp: FileStamp) -> bool:
    """Whether equal bytes mean an equal entry: one without an id takes its dates from the file's time."""
    return before.adopted or before.stamp[0] == stamp.mtime_ns


EXACT_LIMIT = 100
DEAD_SHARE = 0.02
_NEW_FILES_FACTOR = 2  # times the number of entries: with more changed files, rebuild
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
    """Update or rebuild the index as `refresh` requires; wait a little for another process that is doing it.

    A `patient` caller is waiting for an answer, so a large index is not rebuilt now. Raises IndexUnavailableError if the
    index cannot be written.
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
    if not paths and (generation is None or freshness.head_moved_externally(store, generation)):
        from engram.usecases.admission.incoming_quarantine import quarantine_pulled

        quarantine_pulled(store)
    if generation is None:
        return _rebuild(store, rebuild or store.index.why_rebuilt, progress)
    try:
        result = _update(store, generation, paths, sweep=thorough and not paths)
    except DamagedIndexError as error:
        store.index.mark_damaged(str(error))
        return _rebuild(store, str(error), progress)
    if too_many_dead(generation, patient=patient):
        _rebuild(store, "much lore was changed or removed", None)
    return result


def _update(store: Store, generation: Generation, paths: Sequence[str], *, sweep: bool) -> Refreshed:
    now = store.clock.nanoseconds()
    with converting_damage():
        in_step = generation.check_in_step()
        if paths:
            delta = file_scan.scan_files(store, generation, paths)
        elif sweep:
            delta = file_scan.sweep(store, generation, now)
        else:
            changes = freshness.reported_changes(store)
            delta = file_scan.scan_folders(store, generation, now, *changes, reported=True)
    mark = judgements.refresh_if_possible(store, generation.judged)
    day = day_of(store.clock.now())
    judged = _collect_judged(store, generation, mark, day)
    delta = file_scan.add_judged(generation, delta, judged.paths)
    live_rows = generation.next_row - generation.dead
    if not delta.gone and len(delta.files) > max(QUICK_LIMIT, _NEW_FILES_FACTOR * live_rows):
        return _rebuild(store, "most of the lore is new", None)  # takes less than half the time
    is_current = in_step and delta.is_empty and (mark, day) == (generation.judged, generation.day)
    is_small = live_rows <= freshness.UNRECORDED_SWEEP_LIMIT
    if is_current and (not sweep or (is_small and generation.head == freshness.head_commit(store))):
        return Refreshed()
    follow_renames(store, generation, delta)
    removed_ids = generation.catalog.ids_of(delta.gone) if delta.gone else set()
    with GenerationWriter(generation, bulk=False) as writer:
        result = _apply(store, writer, delta, now, None, judged.paths, generation.owners)
        owners = _update_owners(store, generation, writer, generation.owners)
        if generation.day != day:
            writer.fade(day)
        sweep_info = {"head": freshness.head_commit(store), "swept_ns": str(now)} if sweep else {}
        writer.commit(sweep_info | {"judged": mark, "day": str(day), "owners": json.dumps(owners)})
    store.judgements.settle(judged.entries)
    record_seen_commit(store)
    if removed_ids:
        _record_removed(store, generation, removed_ids)
    return result


class _JudgedEntries(NamedTuple):
    """Entries whose judgements changed since the last update of the index, and the files that they count for."""

    entries: list[str]
    paths: set[str]


def _collect_judged(store: Store, generation: Generation, mark: str, day: int) -> _JudgedEntries:
    if generation.day != day:
        judgements.reach(store, day)
    elif mark == generation.judged:
        return _JudgedEntries([], set())
    entries = store.judgements.pending() if mark else sorted(store.judgements.entries())
    return _JudgedEntries(entries, generation.catalog.paths_of(entries) if entries else set())


def _record_removed(store: Store, generation: Generation, ids: set[str]) -> None:
    """Record the ids of removed entries, for programs that keep a copy. A moved file is not removed."""
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        removed = ids - generation.catalog.present(sorted(ids))
        store.state.tombstones.add(removed, store.clock.now().timestamp())


def _rebuild(store: Store, reason: str, progress: Progress | None) -> Refreshed:
    try:
        return _build(store, reason, progress)
    except DamagedIndexError as error:  # a new index cannot be damaged: the disk fails
        raise IndexUnavailableError(f"The search index cannot be built: {error}.") from error


def _build(store: Store, reason: str, progress: Progress | None) -> Refreshed:
    now = store.clock.nanoseconds()
    mark = judgements.refresh_if_possible(store)
    pending = store.judgements.pending() if store.judged_mark else []
    generation = store.index.create(store.clock.new_id())
    writer = GenerationWriter(generation, bulk=True)
    try:
        with no_collections():
            delta = file_scan.scan_all(store, now)
            follow_renames_by_git(store, delta.files)
            result = _apply(store, writer, delta, now, progress)
            owners = _update_owners(store, generation, writer, {})
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
        record_seen_commit(store)
        if store.model is not None:
            store.model.drop_unused()
        if generation.next_row > QUICK_LIMIT:
            trim()
    except BaseException:
        writer.abandon()
        store.index.discard(generation)
        raise
    return result._replace(rebuilt=reason)


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
    for path, reason in delta.scan_problems.items():
        indexer.add_problem(path, reason)
    indexer.remove_files(delta.gone)
    indexer.finish()
    writer.folders(delta.folders, delta.gone_folders)
    if progress is not None:
        progress(len(delta.files), len(delta.files))
    return Refreshed(indexer.added, indexer.changed, len(delta.gone), indexer.problems)


def _update_owners(
    store: Store, generation: Generation, writer: GenerationWriter, previous: Mapping[str, str]
) -> dict[str, str]:
    """Count the judgements of folded entries for their new owners where those changed; returns the owners."""
    owners = writer.owners()
    changed = [lore_id for lore_id in {*owners, *previous} if owners.get(lore_id) != previous.get(lore_id)]
    if not changed:
        return owners
    catalog = generation.catalog
    paths = catalog.paths_of(changed)
    entries = []
    for path, known in catalog.known(sorted(paths)).items():
        try:
            raw = store.files.read(path)
        except EngramError:
            raw = b""
        if atomic.digest(raw) != known.digest:  # it is read again or removed once that is noticed
            continue
        modified = datetime.fromtimestamp(known.stamp[0] / 1e9, UTC)
        file = codec.read(raw, path, store.categories, modified, store.parsed, store.first_seen(path))
        lore = judgements.with_tally(store, file.lore, owners=owners)
        entries.append(
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
    writer.put(entries, again=True)
    return owners


def too_many_dead(generation: Generation, *, patient: bool) -> bool:
    """Whether removed texts distort BM25's statistics: any in a small store, above 2 % in a large one.

    Removed texts that the word index never had count by the share of unused rows.

    In a large store, a caller that waits for an answer (`patient`) does not wait for a rebuild, too: that is left to
    the background process that a command starts, or to a thorough refresh.
    """
    live_rows = generation.next_row - generation.dead
    if patient and live_rows > QUICK_LIMIT:
        return False
    distorted = 0 if live_rows <= EXACT_LIMIT else live_rows * DEAD_SHARE
    return generation.words_dead > distorted or generation.dead > max(EXACT_LIMIT, live_rows * DEAD_SHARE)


class _IndexLock:
    """The lock for changing the index. Waits a little; then the caller uses the index as it is."""

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
