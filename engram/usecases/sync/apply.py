"""Apply a merge commit: files through the write journal, then the branch; local edits are never overwritten.

Callers hold the commit lock. Until the branch has moved, the write is an ordinary operation of the journal: after a kill,
the next command finishes it and either moves the branch (`finish_interrupted`) or commits the operation; then the next
sync merges again. Once the branch has moved, the operation changes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change, Operation
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.run import layout
from engram.adapters.git.write import staging
from engram.adapters.git.write.merge_commit import advance
from engram.domain.errors import ConflictError, GitError, NotFoundError, StoreError
from engram.domain.merge.text_merge import merge_text
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge.tree_merge import LARGEST_TEXT
from engram.usecases.store import entry_writer, excluded_files, sync_state

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from engram.adapters.git.read.differences import Difference
    from engram.adapters.git.run.layout import Head
    from engram.usecases.merge.commit_merge import Merge
    from engram.usecases.store.store import Store

_FILES_PER_OPERATION = 500
_MARK = "sync-under-way"


class Applied(NamedTuple):
    """Whether a merge is `done`, else the files in its way (none if only the branch moved meanwhile).

    `notes` are sentences on uncommitted local changes that were kept.
    """

    done: bool
    in_the_way: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def apply_merge(store: Store, head: Head, merge: Merge, uncommitted: Collection[str] = ()) -> Applied:
    """Move the work tree and the branch from `head` to a merge; if that fails, any file that was written is whole.

    Files that Engram never commits are not in the way, nor are those of `uncommitted`, which it could not commit.
    Raises StoreError (disk, permissions), GitError.
    """
    repo = store.repository
    update = _compare(store, merge, uncommitted)
    if update.in_the_way:
        return Applied(False, update.in_the_way)
    changes = _write_binary(store, update.changes)
    # Before the branch moves, so that the absence of a file that is left out is not taken for its deletion.
    excluded_files.note_left_out(
        store.places.state, {**excluded_files.read_left_out(store.places.state), **merge.left_out}
    )
    operations = [
        _operation(store, changes[start : start + _FILES_PER_OPERATION], merge)
        for start in range(0, len(changes), _FILES_PER_OPERATION)
    ]
    _write_mark(store, head.oid, merge.commit, [operation.op for operation in operations])
    try:
        entry_writer.write(store, operations, brought_in=True)
        notes = tuple(keep(store, found) for found in update.kept)
    except ConflictError:
        return Applied(False)
    moved = advance(repo, head, merge.commit, _entries(merge.changes), store.places.state)
    _remove_mark(store)
    if moved:
        excluded_files.note_left_out(store.places.state, merge.left_out)
        # Without the mark git shows them as deleted, nothing worse.
        with contextlib.suppress(GitError):
            staging.skip_worktree(repo, merge.left_out)
        # The journal is committed next: this shows at once that it changes nothing.
        objects.learn(repo, merge.commit, _entries(merge.changes))
    kept = {found.path for found in update.kept}
    _finish_files(store, {path: found for path, found in merge.changes.items() if path not in kept})
    return Applied(moved, notes=notes if moved else ())


def finish_interrupted(store: Store) -> bool:
    """Finish moving the branch for a killed sync if all files are in place; return whether it moved."""
    mark = _read_mark(store)
    if mark is None:
        _remove_mark(store)
        return False
    old, new, names = mark
    repo = store.repository
    store.files.recover(must=True)
    head = layout.read_head(repo)
    waiting = store.files.journal.waiting()
    done = False
    if head.oid == old and head.branch and set(names) <= {operation.op for operation in waiting}:
        changes = differences(repo, old, new)
        later = {
            item.path for operation in waiting if operation.op not in names for item in operation.changes
        }
        algorithm = layout.hash_name(repo)
        if all(
            path in later or _is_in_place(store, path, found, algorithm) for path, found in changes.items()
        ):
            done = advance(repo, head, new, _entries(changes), store.places.state)
    _remove_mark(store)
    return done


def _entries(changes: Mapping[str, Difference]) -> dict[str, objects.Entry | None]:
    return {path: found.after for path, found in changes.items()}


class _Update(NamedTuple):
    """The files to write, those in the way, and those that keep their local changes."""

    changes: list[Change]
    in_the_way: tuple[str, ...]
    kept: list[Uncommitted]


def _compare(store: Store, merge: Merge, uncommitted: Collection[str]) -> _Update:
    """Compare the files with our head and the merge: a file that matches neither is in the way."""
    in_the_way: list[str] = []
    wanted: list[tuple[str, objects.Entry | None, str | None]] = []
    local: list[tuple[str, bytes | None]] = []
    algorithm = layout.hash_name(store.repository)
    for path, change in merge.changes.items():
        after = None if path in merge.left_out else change.after
        if path in merge.left_out and change.before is None:
            continue
        keep_local = path in uncommitted or is_never_committed(path, store.places.folder)
        try:
            raw, oid = _read(store, path, algorithm)
            readable = not (keep_local and is_obstructed(store, path))
        except StoreError:
            raw, oid, readable = None, None, False
        if not readable:
            if keep_local:
                local.append((path, None))
            else:
                in_the_way.append(path)
        elif oid == _oid(after):
            continue
        elif oid == _oid(change.before) or (
            keep_local and raw is None
        ):  # like git, write a deleted file again
            wanted.append((path, after, None if raw is None else atomic.digest(raw)))
        elif keep_local:
            local.append((path, raw))
        else:
            in_the_way.append(path)
    if in_the_way:
        return _Update([], tuple(in_the_way), [])
    needed = [(path, merge.changes[path].after) for path, _ in local] + [
        (path, entry) for path, entry, _ in wanted
    ]
    oids = {path: entry.oid for path, entry in needed if entry}
    by_oid = blobs(store.repository, oids.values(), merge.known)
    contents = {path: by_oid[oid] for path, oid in oids.items()}
    return _Update(
        [Change(path, contents.get(path), before) for path, _, before in wanted],
        (),
        _read_uncommitted(store, merge, local, contents),
    )


def _read_uncommitted(
    store: Store, merge: Merge, local: list[tuple[str, bytes | None]], contents: Mapping[str, bytes]
) -> list[Uncommitted]:
    entries = {path: before for path, _ in local if (before := merge.changes[path].before) is not None}
    contents_before = blobs(store.repository, (entry.oid for entry in entries.values())) if entries else {}
    return [
        Uncommitted(
            path, raw, contents_before[entries[path].oid] if path in entries else None, contents.get(path)
        )
        for path, raw in local
    ]


def _read(store: Store, path: str, algorithm: str) -> tuple[bytes | None, str | None]:
    """Return the bytes of a file in the work tree and their blob id, or (None, None) if there is no file."""
    try:
        raw = store.files.read(path)
    except NotFoundError:
        return None, None
    return raw, objects.blob_oid(raw, algorithm)


def _oid(entry: objects.Entry | None) -> str | None:
    return entry.oid if entry else None


def _is_in_place(store: Store, path: str, change: Difference, algorithm: str) -> bool:
    try:
        return _read(store, path, algorithm)[1] == _oid(change.after)
    except StoreError:
        return False


def _write_binary(store: Store, changes: list[Change]) -> list[Change]:
    """Write binary files, which the journal cannot hold, and return the other changes."""
    text = []
    for item in changes:
        try:
            (item.content or b"").decode()
            text.append(item)
        except UnicodeDecodeError:
            path = store.files.absolute(item.path)
            with store.files.lock():
                atomic.check_unchanged(path, item.before)
                atomic.move_into_place(atomic.prepare(path, item.content or b"", store.clock.new_id()), path)
    return text


def _operation(store: Store, changes: list[Change], merge: Merge) -> Operation:
    moment = int(store.clock.now().timestamp())
    trailers = (("Engram-Agent", store.caller.who), ("Engram-Merge", merge.commit))
    return Operation(
        store.clock.new_id(), moment, f"sync: bring in {len(changes)} files", trailers, tuple(changes)
    )


def _write_mark(store: Store, old: str | None, new: str, names: Iterable[str]) -> None:
    data = json.dumps({"old": old, "new": new, "operations": list(names)}).encode()
    sync_state.replace(os.path.join(store.places.state, _MARK), data)


def _read_mark(store: Store) -> tuple[str | None, str, list[str]] | None:
    try:
        mark = json.loads(atomic.read(os.path.join(store.places.state, _MARK)))
        return mark["old"], str(mark["new"]), list(map(str, mark["operations"]))
    except NotFoundError:
        return None
    except (StoreError, ValueError, KeyError, TypeError):
        _remove_mark(store)
        return None


def _remove_mark(store: Store) -> None:
    atomic.discard(os.path.join(store.places.state, _MARK))
    sync_state.discard_draft(os.path.join(store.places.state, _MARK))


def _finish_files(store: Store, changes: Mapping[str, Difference]) -> None:
    """Set executable bits and remove folders that have become empty, as git does."""
    for path, change in changes.items():
        if change.after and change.after.mode == objects.EXECUTABLE:
            with contextlib.suppress(OSError):
                os.chmod(store.files.absolute(path), 0o755)  # noqa: S103 - the mode that git sets
    folders = {os.path.dirname(path) for path, change in changes.items() if change.after is None}
    if folders - {""}:
        with store.files.lock():  # writers make a folder and its file under this lock
            for folder in sorted(folders - {""}, reverse=True):
                _remove_empty(store, folder)


def _remove_empty(store: Store, folder: str) -> None:
    top = store.places.folder
    while folder and folder != top:
        try:
            os.rmdir(store.files.absolute(folder))
        except (OSError, StoreError):
            return
        folder = os.path.dirname(folder)


# Files that Engram does not commit, changed both here and by a merge: the local text stays, and the merge goes on.
#
# Engram commits lore. Other files, such as a README, belong to people: a sync must neither send nor overwrite their
# uncommitted changes. So the branch moves, and the file stays in the work tree as an uncommitted change. The changes of the
# merge are merged into it by lines, as `git stash` would, or else written next to it.


class Uncommitted(NamedTuple):
    """A file of the work tree that differs from our head; `raw` is its content, None if unreadable.

    `before` is the content in our head, `after` that in the merge, None for no file.
    """

    path: str
    raw: bytes | None
    before: bytes | None
    after: bytes | None


def is_never_committed(path: str, folder: str) -> bool:
    """Return whether a file is outside the lore folder and never committed by Engram."""
    return not path.startswith(f"{folder}/") and path != CONFIG_NAME


def may_stay_uncommitted(paths: Iterable[str], folder: str) -> set[str]:
    """Return the files that may stay uncommitted: all but lore, entities, agents and settings."""
    return {path for path in paths if not sync_plan.is_merged_by_field(path, folder) and path != CONFIG_NAME}


def is_obstructed(store: Store, path: str) -> bool:
    """Return whether a link or a file is in the place of one of the path's folders."""
    folder = os.path.dirname(path)
    while folder:
        absolute = store.files.absolute(folder)
        if os.path.islink(absolute) or os.path.isfile(absolute):
            return True
        folder = os.path.dirname(folder)
    return False


def keep(store: Store, found: Uncommitted) -> str:
    """Keep the local version of a file, with the changes of the merge; return a sentence on what was done.

    Idempotent. Raises ConflictError if the file changes meanwhile, StoreError.
    """
    path = found.path
    if found.raw is None:
        return (
            f"{path} was not written: something else stands in its place here. It is in the branch: "
            f"`git show HEAD:{path}`."
        )
    if found.after is None:
        return f"{path} was deleted by the remote; it stays here, because it was changed and not committed."
    merged = _merge_texts(found)
    if merged is None:
        other = _write_other_version(store, path, found.after)
        return f"{path} was changed here and not committed: it stays as it is, and the remote's version is {other}."
    if merged != found.raw:
        _replace(store, path, found.raw, merged)
    return f"{path} was changed here and not committed: the remote's changes were merged into it."


def _merge_texts(file: Uncommitted) -> bytes | None:
    """Return the text with the changes of both sides; None if they overlap or it is not text."""
    versions = (file.before, file.raw, file.after)
    if any(raw is None or len(raw) > LARGEST_TEXT for raw in versions):
        return None
    try:
        base, ours, theirs = ((raw or b"").decode() for raw in versions)
    except UnicodeDecodeError:
        return None
    merged = merge_text(base, ours, theirs)
    return None if merged is None else merged.encode()


def _replace(store: Store, path: str, before: bytes, after: bytes) -> None:
    file = store.files.absolute(path)
    mode = stat.S_IMODE(os.lstat(file).st_mode)
    sync_state.discard_draft(file)
    temporary = atomic.prepare(file, after, sync_state.DRAFT, mode)
    try:
        with store.files.lock():
            atomic.check_unchanged(file, atomic.digest(before))
            atomic.move_into_place(temporary, file)
    finally:
        atomic.discard(temporary)


def _write_other_version(store: Store, path: str, content: bytes) -> str:
    """Write the other version next to the file, as merging commits does, and return its name."""
    name = sync_plan.other_version_path(path, content)
    file = store.files.absolute(name)
    if not os.path.lexists(file):
        sync_state.replace(file, content, 0o644)
    return os.path.basename(name)
