"""Update the history table from new commits: which entries each commit changed, and how.

The table mirrors the history of HEAD. After a rebase, a reset or a change of branch, commits no longer in it are removed
from it; a damaged table is rebuilt.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.git.read.history import ID, OPERATION
from engram.adapters.state import history_table
from engram.adapters.state.connection import is_busy
from engram.adapters.state.history_table import CommitRow, EventRow, HistoryTable, TableError
from engram.domain.entry.lore import Lore
from engram.domain.entry.named_files import WHOLE, below
from engram.domain.errors import EngramError, GitError, StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.version_paths import in_git, read_lore, repository_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from engram.adapters.git.read.commit_log import FileChange, Listed, LoggedCommit
    from engram.usecases.store.store import Store

    T = TypeVar("T")
    _Rows = tuple[CommitRow, Sequence[EventRow]]
    Step = Callable[[int, int], None]

AT_ONCE = 500  # commits read by one git process and written in one transaction
LOCK_SECONDS = 120.0
ADDED, CHANGED, MOVED, REMOVED, MERGED = "added", "changed", "moved", "removed", "merged"
_IGNORED = "updated_at"  # every change sets it


def with_history(store: Store, read: Callable[[HistoryTable], T], step: Step | None = None) -> T:
    """Update the table to HEAD, then return the result of `read`; `step` gets the numbers of commits done and in total.

    Raises StoreError (no git, or another process holds the table), GitError.
    """
    repository_of(store)
    path = history_table.table_path(store.places.state)
    for attempt in (path, path, history_table.MEMORY):
        try:
            with contextlib.closing(HistoryTable(attempt)) as table:
                update(store, table, step)
                return read(table)
        except TableError as error:
            _prepare_retry(path, attempt, error)
    raise AssertionError("unreachable")


def events_of(
    store: Store, lore_id: str, path: str, limit: int, step: Step | None = None
) -> list[tuple[CommitRow, EventRow]]:
    """Return the last events of the entry at a store path, newest first; for a note, also those before its renames.

    Raises StoreError, GitError.
    """
    name = in_git(store, path)
    if store.places.folder:
        return with_history(store, lambda table: table.of_lore(lore_id, name, limit), step)
    from engram.adapters.git.read.edits import renames_of

    renames = renames_of(repository_of(store), name)
    rows = with_history(store, lambda table: table.of_lore(lore_id, name, limit, renames), step)
    first = store.first_seen(path).partition("#")[0]
    if first not in ("", path) and not renames and rows and not rows[-1][1].before:
        renames = [(rows[-1][0].oid, in_git(store, first))]  # removed by one commit, added by another
        rows = with_history(store, lambda table: table.of_lore(lore_id, name, limit, renames), step)
    moves = {oid for oid, _ in renames}
    for index, ((commit, event), (_, before)) in enumerate(itertools.pairwise(rows)):
        if commit.oid in moves and event.kind == ADDED and not event.id and before.after:
            confidence = before.confidence
            rows[index] = (
                commit,
                event._replace(kind=MOVED, before=(before.after,), confidence_before=confidence),
            )
    return rows


def _prepare_retry(path: str, attempt: str, error: TableError) -> None:
    """Delete the damaged file for another attempt, the last of which is in memory. Raises StoreError."""
    if attempt == history_table.MEMORY:
        raise StoreError(f"The history table cannot be built: {error}.", "Free some space, then try again.")
    if is_busy(error):
        raise StoreError("Another process holds the history table.", "Try again.")
    with contextlib.suppress(OSError):
        history_table.discard(path)


def update_in_background(store: Store) -> None:
    """Update the table in the background, ignoring errors: the next query reports them.

    In a code repository, whose history may be long, it is updated only if it exists.
    """
    places = store.places
    path = history_table.table_path(places.state)
    if places.repository is None or (not places.owns_branch and not os.path.exists(path)):
        return
    with contextlib.suppress(EngramError):
        with_history(store, lambda _table: None)


def update(store: Store, table: HistoryTable, step: Step | None = None) -> None:
    """Update the table to HEAD. Raises TableError, StoreError, GitError."""
    from engram.adapters.git.run.layout import read_head

    head, shape = read_head(repository_of(store)).oid or "", _shape(store)
    if _is_current(table.meta(), head, shape):
        return
    with _hold_lock(store, table):
        known = table.meta()
        if _is_current(known, head, shape):
            return
        if known and (known["mark"] != shape or not head):
            raise TableError("the table is of another folder or history")  # so it is rebuilt
        _Update(store, table, step or (lambda _done, _total: None)).run(known, head, shape)


@contextlib.contextmanager
def _hold_lock(store: Store, table: HistoryTable) -> Iterator[None]:
    """Hold the update lock. Raises StoreError if it is taken, TableError if it cannot be created."""
    if table.is_private:
        yield
        return
    lock = FileLock(history_table.lock_path(store.places.state))
    try:
        acquired = lock.acquire(LOCK_SECONDS)
    except OSError as error:
        raise TableError(str(error)) from None
    if not acquired:
        raise StoreError("Another process has been updating the history table for minutes.", "Try again.")
    try:
        yield
    finally:
        lock.release()


def _is_current(known: dict[str, str], head: str, shape: str) -> bool:
    return known.get("head", "") == head and known.get("mark", shape) == shape and not known.get("target")


def _folder(store: Store) -> str:
    """Return the folder whose history counts; "" if the repository is the store's own."""
    return "" if store.places.owns_branch else in_git(store, store.places.folder)


def _shape(store: Store) -> str:
    """Return a stamp of the folder and the shallow boundary; a table with another stamp is rebuilt."""
    try:
        with open(os.path.join(repository_of(store).common_dir, "shallow"), "rb") as file:
            shallow = hashlib.blake2b(file.read(), digest_size=8).hexdigest()
    except OSError:
        shallow = ""
    return f"{_folder(store)}|{shallow}"


class _Blob(NamedTuple):
    """A version of a file: its blob id, the entry id in it ("" if none), and the parsed entry."""

    oid: str
    id: str
    lore: Lore | None


class _Update:
    """One update in progress."""

    def __init__(self, store: Store, table: HistoryTable, step: Step) -> None:
        self._store, self._table, self._step = store, table, step
        self._repository, self._folder = repository_of(store), _folder(store)
        self._below = below("" if self._folder == WHOLE else self._folder)
        self._blobs: dict[tuple[str, str], _Blob] = {}
        self._ids: dict[str, str] = {}  # by path, for events not yet in the table

    def run(self, known: dict[str, str], head: str, shape: str) -> None:
        """Update the table to `head`, continuing an update that was killed."""
        removed, added = self._changed_commits(known, head)
        self._table.note({"mark": shape, "target": head, "head": known.get("head", "")})
        self._table.remove(removed)
        highest = self._table.highest_rank()
        mentioned = {oid for commit in added for oid in (commit.oid, *commit.parents)} if highest else ()
        ranks = self._table.ranks(mentioned)
        pending = [commit for commit in added if commit.oid not in ranks]
        for at in range(0, len(pending), AT_ONCE):
            self._step(at, len(pending))
            self._add_page(pending[at : at + AT_ONCE], ranks, highest)
        self._table.note({"head": head, "target": ""})

    def _changed_commits(self, known: dict[str, str], head: str) -> tuple[list[str], list[Listed]]:
        from engram.adapters.git.read.commit_log import between

        try:
            removed, added = between(self._repository, known.get("head", ""), head, self._folder)
            if known.get("target"):
                removed += between(self._repository, known["target"], head, self._folder)[0]
        except GitError:
            if not known:
                raise
            raise TableError("commits of the table are no longer in git") from None
        return removed, added

    def _add_page(self, listed: Sequence[Listed], ranks: dict[str, int], highest: int) -> None:
        from engram.adapters.git.read.commit_log import read_commits

        logged = {
            commit.oid: commit._replace(changes=tuple(filter(self._is_lore, commit.changes)))
            for commit in read_commits(self._repository, [commit.oid for commit in listed], self._folder)
        }
        self._read_blobs(logged.values())
        rows: list[_Rows] = []
        for commit in listed:
            logged_commit = logged.get(commit.oid)
            moment = logged_commit.moment if logged_commit else 0
            rank = max([moment, *(ranks.get(parent, highest) for parent in commit.parents)])
            ranks[commit.oid] = rank
            events = list(self._events(logged_commit)) if logged_commit else []
            if logged_commit and events:
                sides = max(len(change.before) for change in logged_commit.changes)
                rows.append(
                    (
                        _row(logged_commit, rank),
                        [self._with_moved_sides(event, sides, rows) for event in events],
                    )
                )
        self._table.add(rows)
        self._ids.clear()

    def _with_moved_sides(self, event: EventRow, sides: int, rows: Sequence[_Rows]) -> EventRow:
        """Add the other side's version to the event of a merge, if one side had moved the entry."""
        if sides == 1 or len(event.before) == sides or not (event.id and event.before and event.after):
            return event
        recent = [other for _, others in rows for other in others if other.id == event.id]
        found = next((other.after for other in reversed(recent) if other.path != event.path), None)
        if found is None:
            found = self._table.last_elsewhere(event.id, event.path)
        return event._replace(kind=MERGED, before=(*event.before, found)) if found else event

    def _is_lore(self, change: FileChange) -> bool:
        return change.path.endswith(".md") and change.path.startswith(self._below)

    def _read_blobs(self, commits: Iterable[LoggedCommit]) -> None:
        """Read every version in these commits, and drop those of earlier pages."""
        from engram.adapters.git.read.versions import read_objects

        keys = {
            (change.path, oid): None
            for commit in commits
            for change in commit.changes
            for oid in (*change.before, change.after)
            if oid
        }
        self._blobs = {key: blob for key in keys if (blob := self._blobs.get(key))}
        missing = [key for key in keys if key not in self._blobs]
        raws = read_objects(self._repository, [oid for _, oid in missing])
        for (path, oid), raw in zip(missing, raws, strict=True):
            file = read_lore(self._store, path, raw)
            lore_id = file.lore.id if file and file.adopted else ""
            self._blobs[path, oid] = _Blob(oid, lore_id, file.lore if file else None)

    def _events(self, commit: LoggedCommit) -> Iterator[EventRow]:
        """Derive the changes of entries in a commit; a removal and an addition of the same id are a move."""
        removed: dict[str, tuple[FileChange, list[_Blob]]] = {}
        changes = []
        for change in commit.changes:
            before = [self._blobs[change.path, oid] for oid in change.before if oid]
            after = self._blobs[change.path, change.after] if change.after else None
            for blob in before:
                if blob.id and (after is None or (after.id and after.id != blob.id)):
                    removed[blob.id] = change, before
            changes.append((change, before, after))
        for change, before, after in changes:
            if after is None:
                continue
            previous = [blob for blob in before if not (blob.id and after.id and blob.id != after.id)]
            moved = removed.pop(after.id, None) if after.id and not previous else None
            yield self._event(change.path, moved[1] if moved else previous, after, MOVED if moved else "")
        for lore_id, (change, before) in removed.items():
            yield _removal_event(change.path, lore_id, [blob for blob in before if blob.id == lore_id])
        for change, before, after in changes:
            if after is None and before and not any(blob.id for blob in before):
                yield _removal_event(change.path, self._known_id(change.path, before), before)

    def _event(self, path: str, before: Sequence[_Blob], after: _Blob, kind: str) -> EventRow:
        kind = kind or (MERGED if len(before) > 1 else CHANGED if before else ADDED)
        lore_id = after.id or self._known_id(path, [*before, after])
        self._ids[path] = lore_id or self._ids.get(path, "")
        first = before[0].lore if before else None
        return EventRow(
            path, lore_id, kind, tuple(blob.oid for blob in before), after.oid,
            first.thousandths if first else None, after.lore.thousandths if after.lore else None,
            after.lore.validation_count if after.lore else None, _changed_fields(before, after),
        )  # fmt: skip

    def _known_id(self, path: str, blobs: Sequence[_Blob]) -> str:
        """Return the id for versions without one: a damaged file still belongs to its entry."""
        if all(blob.lore is not None for blob in blobs[-1:]):
            return ""
        found = next((blob.id for blob in blobs if blob.id), "")
        return found or self._ids.get(path) or self._table.last_id(path)


def _removal_event(path: str, lore_id: str, before: Sequence[_Blob]) -> EventRow:
    lore = before[0].lore
    oids = tuple(blob.oid for blob in before)
    return EventRow(
        path, lore_id, REMOVED, oids, "", lore.thousandths if lore else None, None, None, ()
    )  # fmt: skip


def _changed_fields(before: Sequence[_Blob], after: _Blob) -> tuple[str, ...]:
    """Return the fields that differ from all previous versions."""
    if after.lore is None or any(blob.lore is None for blob in before):
        return ()
    versions = [blob.lore for blob in before if blob.lore]
    if not versions:
        return ()
    return tuple(
        name
        for at, name in enumerate(Lore._fields)
        if name != _IGNORED and all(old[at] != after.lore[at] for old in versions)
    )


def _row(commit: LoggedCommit, rank: int) -> CommitRow:
    trailers = {key: values[0] for key, values in commit.trailers.items() if values}
    values = (trailers.get(f"Engram-{key}", "") for key in ("Agent", "Session", "Source", "Delta", "Machine"))
    op = trailers.get(ID) or trailers.get(OPERATION, "")
    return CommitRow(commit.oid, rank, commit.moment, commit.author, commit.subject, op, *values)
