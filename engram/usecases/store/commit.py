"""Commit acknowledged changes to git: the process with the commit lock commits the whole journal, in order.

Replay after a kill is idempotent: all commits of a batch appear at once and carry the batch's name.
"""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic, write
from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import EngramError, GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.files.durable.write import Operation
    from engram.adapters.git.write.commits import Commit
    from engram.usecases.store.store import Store


_TAKEN = ".taken"  # the suffix of a list of outside changes that a committer is working on


def commit_lock(store: Store) -> FileLock:
    """Return the lock held by the process that commits."""
    return FileLock(os.path.join(store.places.state, "commit.lock"))


def has_work(store: Store) -> bool:
    """Return whether anything waits to be committed."""
    if not store.places.owns_branch:
        return False
    return not store.files.journal.is_empty() or _has_outside_list(store)


def _has_outside_list(store: Store) -> bool:
    return any(os.path.exists(store.outside_path + suffix) for suffix in ("", _TAKEN))


def count_waiting(store: Store) -> int:
    """Return how many changes wait to be committed: those in the write journal, and noted edits by hand.

    Call it after a refresh. If git cannot compare the files now, only the journal is counted.
    """
    journaled = store.files.journal.waiting()
    if not store.places.owns_branch or not _has_outside_list(store):
        return len(journaled)
    from engram.adapters.git.read.snapshot import outside_changes

    written = {change.path for operation in journaled for change in operation.changes}
    try:
        differing = outside_changes(store.repository, store.places.folder)
    except EngramError:
        return len(journaled)
    return len(journaled) + sum(found.path not in written for found in differing)


def commit_pending(store: Store, *, wait: float = 0.0) -> int:
    """Commit pending changes; return the number of commits, 0 if another process is committing.

    Waits up to `wait` seconds for another process. Raises GitError, for example during a rebase, and StoreError, for
    example if the disk is full; the changes then stay pending.
    """
    lock = commit_lock(store)
    count = 0
    try:
        while has_work(store) and lock.acquire(wait):
            try:
                count += _drain(store)
            finally:
                lock.release()
    except OSError as error:
        raise atomic.write_error(str(error.filename or store.places.state), error) from None
    return count


def why_waiting(store: Store) -> str:
    """Return why commits cannot be made now ("" if they can)."""
    repository = store.places.repository
    if repository is None or not store.places.owns_branch:
        return ""
    from engram.adapters.git.run.layout import operation_in_progress, read_head
    from engram.adapters.git.write.lore_branch import check_head

    state = operation_in_progress(repository)
    try:
        check_head(repository, read_head(repository))
    except GitError as error:
        return error.message
    if state == "detached":
        return "HEAD is detached"
    return f"the repository is in the middle of a {state}" if state else ""


def _drain(store: Store) -> int:
    store.files.recover(must=True)
    # Batches taken earlier go first, so that the order does not depend on the clock.
    count = sum(_commit_batch(store, batch) for batch in store.files.journal.batches())
    with store.files.lock():
        taken = store.files.journal.take(store.clock.new_id())
    if taken is not None:
        count += _commit_batch(store, taken, is_new=True)
    return count + _commit_outside(store)


def _commit_batch(store: Store, batch: str, *, is_new: bool = False) -> int:
    from engram.adapters.git.write.commits import commit_all, has_landed
    from engram.adapters.git.write.staging import sync_index

    repository = store.repository
    operations = write.read_batch(batch)
    marker = os.path.basename(batch).removeprefix("journal-").removesuffix(".jsonl")
    if operations and (is_new or not has_landed(repository, marker)):
        commit_all(
            repository, [_to_commit(operation) for operation in operations], marker, store.places.state
        )
    elif operations:  # committed by a killed process, perhaps before it updated the index
        sync_index(repository, store.places.state)
    atomic.discard(batch)
    return len(operations)


def _to_commit(operation: Operation) -> Commit:
    from engram.adapters.git.write.commits import Commit, FileChange

    changes = tuple(FileChange(change.path, change.content) for change in operation.changes)
    return Commit(message(operation), changes, operation.author or None, operation.moment)


def message(operation: Operation) -> str:
    """Return the commit message: a subject line and the trailers."""
    from engram.adapters.git.read.history import ID

    trailers = "\n".join(f"{key}: {value}" for key, value in (*operation.trailers, (ID, operation.op)))
    subject = " ".join(operation.subject.split())
    return f"{subject[:99] + '…' if len(subject) > 100 else subject}\n\n{trailers}\n"


def _commit_outside(store: Store) -> int:
    """Commit edits by hand, except files that other clones would refuse, which are noted."""
    listed, taken = store.outside_path, store.outside_path + _TAKEN
    try:
        os.replace(listed, taken)
    except FileNotFoundError:
        if not os.path.exists(taken):  # else its committer was killed, or git was busy
            return 0
    from engram.adapters.git.read.snapshot import outside_changes
    from engram.adapters.git.run.author import environment_author
    from engram.adapters.git.write.commits import Commit, FileChange, commit_all
    from engram.usecases.store import excluded_files
    from engram.usecases.store.outside_changes import record_outside_changes

    repository = store.repository
    differing = outside_changes(repository, store.places.folder)
    # Read the journal after the files: a change is journaled before its file is written, and gets its own commit.
    waiting = {change.path for operation in store.files.journal.waiting() for change in operation.changes}
    record_outside_changes(store, [found.path for found in differing if found.path in waiting])
    edited = [found for found in differing if found.path not in waiting]
    readings = {found.path: store.files.read_if_possible(found.path) for found in edited if not found.deleted}
    refused = excluded_files.refused_files(store, readings)
    contents = {path: raw for path, raw in readings.items() if raw is not None and path not in refused}
    contents |= _date_edits(store, contents)
    left_out = excluded_files.read_left_out(store.places.state)
    changes = [
        FileChange(found.path, contents.get(found.path))
        for found in edited
        if found.path in contents or (found.deleted and found.path not in left_out)
    ]
    if changes:
        moment = int(store.clock.now().timestamp())
        what = changes[0].path if len(changes) == 1 else f"{len(changes)} files"
        text = f"edit by hand: {what}\n\nEngram-Agent: human\n"
        commit_all(
            repository,
            [Commit(text, tuple(changes), environment_author() or None, moment)],
            store.clock.new_id(),
            store.places.state,
        )
    excluded_files.note_uncommitted(store, excluded_files.uncommitted_links(store) | refused)
    atomic.discard(taken)
    return len(changes)


def _date_edits(store: Store, contents: dict[str, bytes]) -> dict[str, bytes]:
    """Set `updated_at` of entries edited by hand from the times of their files; return the new contents.

    Only entries whose text changed and whose `updated_at` did not. Merges use it to tell which of two edits is later.
    """
    from datetime import UTC, datetime

    from engram.adapters.files.frontmatter import codec
    from engram.adapters.git.read import objects
    from engram.adapters.git.read.differences import blobs
    from engram.adapters.git.run.layout import read_head
    from engram.domain.entry import times
    from engram.domain.sync.sync_plan import is_lore

    paths = [path for path in contents if is_lore(path, store.places.folder)]
    repository, now, never = store.repository, store.clock.now(), datetime.fromtimestamp(0, UTC)
    committed = objects.entries(repository, read_head(repository).oid, paths) if paths else {}
    before = blobs(repository, (entry.oid for entry in committed.values()))
    dated: dict[str, bytes] = {}
    for path, entry in committed.items():
        raw, file = contents[path], store.files.absolute(path)
        try:
            old = codec.read(before[entry.oid], path, store.categories, never).lore
            new = codec.read(raw, path, store.categories, never)
            if not new.adopted or new.lore.content == old.content or new.lore.updated_at != old.updated_at:
                continue
            stat = os.lstat(file)
            modified = datetime.fromtimestamp(max(0.0, stat.st_mtime), UTC)
            stamp = times.after(min(modified, now), old.updated_at)
            after = codec.rewrite(new, new.lore._replace(updated_at=stamp), store.categories)
            with store.files.lock():
                atomic.check_unchanged(file, atomic.digest(raw))
                atomic.move_into_place(
                    atomic.prepare(file, after, store.clock.new_id(), stat.st_mode & 0o777), file
                )
        except (EngramError, OSError):
            continue  # commit it unchanged
        dated[path] = after
    return dated


def commit_quietly(store: Store, *, wait: float = 0.0) -> str:
    """Call `commit_pending`, but return the message of an error instead of raising it ("" on success)."""
    try:
        commit_pending(store, wait=wait)
    except EngramError as error:
        return error.message
    return ""
