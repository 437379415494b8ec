"""Apply a merged commit: files through the write journal, then the branch; local edits are never overwritten.

Callers hold the commit lock. Until the branch has moved, what was written is an ordinary operation of the journal: after
a kill, the next command finishes it, and either moves the branch (`finish_interrupted`) or commits the operation as it
is, and the next sync merges again. Once the branch has moved, the operation changes nothing.
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

AT_ONCE = 500  # files of one operation
_MARK = "sync-under-way"


class Applied(NamedTuple):
    """Whether a merge is `done`, or which files are in its way (none where only the branch moved meanwhile).

    `notes` are sentences about files that were changed here, are not committed and stay.
    """

    done: bool
    in_the_way: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def apply_merge(store: Store, head: Head, merge: Merge, uncommitted: Collection[str] = ()) -> Applied:
    """Move the work tree and the branch from `head` to a merge; where that is impossible, only whole files were written.

    Files that Engram never commits are not in the way, nor are those of `uncommitted`, which it could not commit.
    Raises StoreError (disk, permissions), GitError.
    """
    repo = store.repository
    update = _compare(store, merge, uncommitted)
    if update.in_the_way:
        return Applied(False, update.in_the_way)
    changes = _write_binary(store, update.changes)
    # Before the branch moves: nobody may take the absence of a file that is left out for its deletion.
    excluded_files.note_left_out(
        store.places.state, {**excluded_files.read_left_out(store.places.state), **merge.left_out}
    )
    operations = [
        _operation(store, changes[at : at + AT_ONCE], merge) for at in range(0, len(changes), AT_ONCE)
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
        with contextlib.suppress(
            GitError
        ):  # without the mark git calls them deleted, and nothing else goes wrong
            staging.leave_out(repo, merge.left_out)
    if moved:  # the journal is committed next: this shows at once that it changes nothing
        objects.learn(repo, merge.commit, _entries(merge.changes))
    kept = {found.path for found in update.kept}
    _finish_files(store, {path: found for path, found in merge.changes.items() if path not in kept})
    return Applied(moved, notes=notes if moved else ())


def finish_interrupted(store: Store) -> bool:
    """Move the branch where a killed sync was about to move it, if all files are in place; returns whether it did."""
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
        if all(path in later or _holds(store, path, found, algorithm) for path, found in changes.items()):
            done = advance(repo, head, new, _entries(changes), store.places.state)
    _remove_mark(store)
    return done


def _entries(changes: Mapping[str, Difference]) -> dict[str, objects.Entry | None]:
    return {path: found.after for path, found in changes.items()}


class _Update(NamedTuple):
    """The files to write, those that are in the way, and those that stay as a person left them."""

    changes: list[Change]
    in_the_way: tuple[str, ...]
    kept: list[Uncommitted]


def _compare(store: Store, merge: Merge, uncommitted: Collection[str]) -> _Update:
    """Compare the files with our head and the merge: a file that is as neither of them has it is in the way."""
    in_the_way: list[str] = []
    wanted: list[tuple[str, objects.Entry | None, str | None]] = []
    kept: list[tuple[str, bytes | None]] = []
    algorithm = layout.hash_name(store.repository)
    for path, found in merge.changes.items():
        after = None if path in merge.left_out else found.after
        if path in merge.left_out and found.before is None:
            continue
        keeps = path in uncommitted or is_left_to_git(path, store.places.folder)
        try:
            raw, oid = _read(store, path, algorithm)
            readable = not (keeps and is_obstructed(store, path))
        except StoreError:
            raw, oid, readable = None, None, False
        if not readable:
            if keeps:
                kept.append((path, None))
            else:
                in_the_way.append(path)
        elif oid == _oid(after):
            continue
        elif oid == _oid(found.before) or (keeps and raw is None):  # git writes a deleted file anew, too
            wanted.append((path, after, None if raw is None else atomic.digest(raw)))
        elif keeps:
            kept.append((path, raw))
        else:
            in_the_way.append(path)
    if in_the_way:
        return _Update([], tuple(in_the_way), [])
    needed = [(path, merge.changes[path].after) for path, _ in kept] + [
        (path, entry) for path, entry, _ in wanted
    ]
    oids = {path: entry.oid for path, entry in needed if entry}
    by_oid = blobs(store.repository, oids.values(), merge.known)
    contents = {path: by_oid[oid] for path, oid in oids.items()}
    return _Update(
        [Change(path, contents.get(path), before) for path, _, before in wanted],
        (),
        _read_uncommitted(store, merge, kept, contents),
    )


def _read_uncommitted(
    store: Store, merge: Merge, kept: list[tuple[str, bytes | None]], contents: Mapping[str, bytes]
) -> list[Uncommitted]:
    old = {path: before for path, _ in kept if (before := merge.changes[path].before) is not None}
    found = blobs(store.repository, (entry.oid for entry in old.values())) if old else {}
    return [
        Uncommitted(path, raw, found[old[path].oid] if path in old else None, contents.get(path))
        for path, raw in kept
    ]


def _read(store: Store, path: str, algorithm: str) -> tuple[bytes | None, str | None]:
    """Return the bytes of a file in the work tree and the id they have in git; None twice where there is no file."""
    try:
        raw = store.files.read(path)
    except NotFoundError:
        return None, None
    return raw, objects.blob_oid(raw, algorithm)


def _oid(entry: objects.Entry | None) -> str | None:
    return entry.oid if entry else None


def _holds(store: Store, path: str, found: Difference, algorithm: str) -> bool:
    try:
        return _read(store, path, algorithm)[1] == _oid(found.after)
    except StoreError:
        return False


def _write_binary(store: Store, changes: list[Change]) -> list[Change]:
    """Write the files that are no text, which the journal cannot hold, and return the rest."""
    text = []
    for item in changes:
        try:
            (item.content or b"").decode()
            text.append(item)
        except UnicodeDecodeError:
            path = store.files.absolute(item.path)
            with store.files.lock():
                atomic.check_unchanged(path, item.before)
                atomic.put(atomic.prepare(path, item.content or b"", store.clock.new_id()), path)
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
        found = json.loads(atomic.read(os.path.join(store.places.state, _MARK)))
        return found["old"], str(found["new"]), list(map(str, found["operations"]))
    except NotFoundError:
        return None
    except (StoreError, ValueError, KeyError, TypeError):
        _remove_mark(store)
        return None


def _remove_mark(store: Store) -> None:
    atomic.discard(os.path.join(store.places.state, _MARK))
    sync_state.discard_draft(os.path.join(store.places.state, _MARK))


def _finish_files(store: Store, changes: Mapping[str, Difference]) -> None:
    """Make executable files executable, and remove folders that have become empty, as git does."""
    for path, found in changes.items():
        if found.after and found.after.mode == objects.EXECUTABLE:
            with contextlib.suppress(OSError):
                os.chmod(store.files.absolute(path), 0o755)  # noqa: S103 - the mode that git gives it
    folders = {os.path.dirname(path) for path, found in changes.items() if found.after is None}
    if folders - {""}:
        with store.files.lock():  # a writer makes its folder and its file in it under this lock
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


# Files that Engram does not commit, changed here and by a merge: the local text stays, and the merge goes on.
#
# Engram commits lore. Other files, such as a README, are a person's: what they wrote and did not commit must not leave this
# machine by a sync, nor be overwritten by one. So the branch moves and the file stays in the work tree, as an uncommitted
# change. What the merge changed in it is merged into it by lines, as `git stash` would, or else written next to it.


class Uncommitted(NamedTuple):
    """A file of the work tree that differs from our head; `raw` are its bytes, None where they cannot be read.

    `before` is the content in our head and `after` that in the merge, None for no file.
    """

    path: str
    raw: bytes | None
    before: bytes | None
    after: bytes | None


def is_left_to_git(path: str, folder: str) -> bool:
    """Return whether a file outside the lore folder is one that Engram never commits by itself."""
    return not path.startswith(f"{folder}/") and path != CONFIG_NAME


def may_be_kept(paths: Iterable[str], folder: str) -> set[str]:
    """Return those of the files that may stay uncommitted: those that are not lore, entities, agents or settings."""
    return {path for path in paths if not sync_plan.is_by_fields(path, folder) and path != CONFIG_NAME}


def is_obstructed(store: Store, path: str) -> bool:
    """Return whether the path of the file is obstructed: a link or a file is in the place of a folder."""
    folder = os.path.dirname(path)
    while folder:
        absolute = store.files.absolute(folder)
        if os.path.islink(absolute) or os.path.isfile(absolute):
            return True
        folder = os.path.dirname(folder)
    return False


def keep(store: Store, found: Uncommitted) -> str:
    """Keep the file as it was written here, with what the merge changed in it; return a sentence on what was done.

    Calling it twice has the effect of one call. Raises ConflictError where the file is changed meanwhile, StoreError.
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


def _merge_texts(found: Uncommitted) -> bytes | None:
    """Return the text with the changes of both sides; None where they overlap or it is no text."""
    versions = (found.before, found.raw, found.after)
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
            atomic.put(temporary, file)
    finally:
        atomic.discard(temporary)


def _write_other_version(store: Store, path: str, content: bytes) -> str:
    """Write the other version next to the file, as a merge of commits does, and return its name."""
    name = sync_plan.other_version_path(path, content)
    file = store.files.absolute(name)
    if not os.path.lexists(file):
        sync_state.replace(file, content, 0o644)
    return os.path.basename(name)
