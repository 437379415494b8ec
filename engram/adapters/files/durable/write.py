"""Apply operations to the lore folder: prepare, journal, move; all or nothing for each operation.

An operation is acknowledged once all its files are fsynced and in place and its journal line is fsynced. Without a
journal the folders are fsynced instead.
"""

from __future__ import annotations

import contextlib
import json
import os
from itertools import accumulate, chain

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import EngramError, NotFoundError, StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeGuard

# The write journal: acknowledged operations that are not in git yet, one fsynced JSON line each.
#
# A line is written before its files are moved into place and names the prepared temporaries. If a temporary still
# exists, the move did not happen, and the next process that opens the store finishes it (`recover`).
# The committer takes whole batches by renaming the journal (`take`) and deletes a batch once git has it;
# replay is idempotent because each commit carries its batch's name.

_NAME = "journal.jsonl"
_BATCH = "journal-"


class Change(NamedTuple):
    """One file of an operation. `path` is relative to the store with `/`; `content` None means delete.

    `before` is the digest of the bytes it replaces (None: there is no file yet).
    """

    path: str
    content: bytes | None
    before: str | None


class Operation(NamedTuple):
    """One change of the store as the journal records it: the message of its commit, and its files.

    `author` is `name <email>`, with only the parts that differ from git's configuration; "" for the configured author.
    """

    op: str
    moment: int
    subject: str
    trailers: tuple[tuple[str, str], ...]
    changes: tuple[Change, ...]
    author: str = ""


class Journal:
    """The journal in one state folder. Appending and taking happen under the store's write lock."""

    def __init__(self, folder: str) -> None:
        """`folder` is the store's private state folder, an absolute path that exists."""
        self.folder = folder
        self.path = os.path.join(folder, _NAME)

    def append(self, operations: Sequence[Operation], temporaries: Sequence[Sequence[str]]) -> list[int]:
        """Append operations with one fsync; return the offset of each in the journal.

        Raises StoreError, and then the journal is unchanged.
        """
        lines = [
            _encode_record(operation, paths) for operation, paths in zip(operations, temporaries, strict=True)
        ]
        try:
            start = atomic.append(self.path, b"".join(lines))
        except OSError as error:
            raise atomic.write_error(self.path, error) from None
        return list(accumulate(map(len, lines[:-1]), initial=start))

    def cut(self, position: int) -> None:
        """Remove the operations from offset `position` on, which were just appended. Raises OSError."""
        os.truncate(self.path, position)

    def size(self) -> int:
        """Return the size of the current journal in bytes."""
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    def is_empty(self) -> bool:
        """Return whether everything acknowledged is in git."""
        try:
            return os.stat(self.path).st_size == 0 and not self.batches()
        except FileNotFoundError:
            return not self.batches()

    def batches(self) -> list[str]:
        """Return the paths of batches that were taken and are not done, oldest first."""
        try:
            names = [name for name in os.listdir(self.folder) if name.startswith(_BATCH)]
        except FileNotFoundError:
            return []
        return [os.path.join(self.folder, name) for name in sorted(names)]

    def take(self, token: str) -> str | None:
        """Turn the current journal into a batch and return its path; None if it is empty."""
        try:
            if os.stat(self.path).st_size == 0:
                return None
        except FileNotFoundError:
            return None
        batch = os.path.join(self.folder, f"{_BATCH}{token}.jsonl")
        os.rename(self.path, batch)
        return batch

    def waiting(self) -> list[Operation]:
        """Return the acknowledged operations that git does not have yet, oldest first."""
        # Read the current journal first: if it becomes a batch meanwhile, its operations are read twice, not missed.
        latest = read_batch(self.path)
        batches = [read_batch(path) for path in self.batches()]
        if any(batch[: len(latest)] == latest for batch in batches):
            latest = []
        return [*chain.from_iterable(batches), *latest]

    def recover(self, root: str) -> int:
        """Finish moves that a crash interrupted; return the number of files changed."""
        finished = 0
        for path in [*self.batches(), self.path]:
            for record in _read_records(path):
                finished += sum(_finish(root, change) for change in record["changes"])
        return finished


def read_batch(path: str) -> list[Operation]:
    """Return the operations of one journal file; a torn last line, which was never acknowledged, is skipped."""
    return [_decode_record(record) for record in _read_records(path)]


def _read_records(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"The write journal {path} cannot be read: {error.strerror}.", "Run `engram doctor --fix`."
        ) from None
    found: list[dict[str, Any]] = []
    for line in lines:
        try:
            record = json.loads(line) if line else None
        except ValueError:
            continue
        if _is_operation(record):
            found.append(record)
    return found


def _is_operation(record: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a record has all fields of an operation; a damaged line must not keep the store from opening."""
    try:
        _decode_record(record)
        return all(
            isinstance(change["path"], str) and isinstance(change["temporary"], str)
            for change in record["changes"]
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _encode_record(operation: Operation, temporaries: Sequence[str]) -> bytes:
    changes = [
        {
            "path": change.path,
            "content": None if change.content is None else change.content.decode(),
            "before": change.before,
            "temporary": os.path.basename(temporary),
        }
        for change, temporary in zip(operation.changes, temporaries, strict=True)
    ]
    record = {**operation._asdict(), "changes": changes}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _decode_record(record: dict[str, Any]) -> Operation:
    changes = tuple(
        Change(item["path"], None if item["content"] is None else item["content"].encode(), item["before"])
        for item in record["changes"]
    )
    trailers = tuple((key, value) for key, value in record["trailers"])
    return Operation(
        str(record["op"]),
        int(record["moment"]),
        str(record["subject"]),
        trailers,
        changes,
        str(record.get("author", "")),
    )


def _finish(root: str, change: dict[str, str | None]) -> bool:
    """Complete one change whose temporary still exists; return whether the target was as expected and was changed."""
    path = os.path.join(root, *str(change["path"]).split("/"))
    temporary = os.path.join(os.path.dirname(path), str(change["temporary"]))
    if not os.path.exists(temporary):
        return False
    untouched = atomic.holds(path, change["before"])
    if untouched and change["content"] is not None:
        atomic.move_into_place(temporary, path)
        return True
    if untouched:
        atomic.discard(path)
    atomic.discard(temporary)
    return untouched


MANY = 16  # files; from this number on they are fsynced in parallel


class LoreFolder:
    """Writes under one store's root, serialised between all processes on the machine."""

    def __init__(self, root: str, state: str, *, journaled: bool) -> None:
        """`root` and `state` are absolute; `journaled`: changes reach git through the journal."""
        self.root = root
        self.journal = Journal(state)
        self.journaled = journaled
        self._lock_path = os.path.join(state, "write.lock")

    def lock(self) -> FileLock:
        """Return the store's write lock, for a `with` statement."""
        return FileLock(self._lock_path)

    def absolute(self, path: str) -> str:
        """Return the absolute path of a store path. Raises StoreError if it leads out of the store."""
        parts = path.split("/")
        if ".." in parts or "" in parts or (os.sep != "/" and os.path.isabs(path)):
            raise StoreError(f"'{path}' leads out of the store.", "Give a path below the store's folder.")
        return f"{self.root}/{path}" if os.sep == "/" else os.path.join(self.root, *parts)

    def read(self, path: str) -> bytes:
        """Return the bytes of a store file. Raises NotFoundError, StoreError."""
        return atomic.read(self.absolute(path))

    def read_if_there(self, path: str) -> bytes | None:
        """Return the bytes of a store file; None if there is none. Raises StoreError."""
        try:
            return self.read(path)
        except NotFoundError:
            return None

    def read_if_possible(self, path: str) -> bytes | None:
        """Return the bytes of a store file; None if it does not exist or cannot be read."""
        try:
            return self.read(path)
        except EngramError:
            return None

    def apply(self, operations: Sequence[Operation]) -> None:
        """Carry out the operations in order and make them durable.

        Raises ConflictError if a file is not the one that the operation was computed from, and StoreError if the disk is
        full or permissions are missing. Then nothing was changed, unless a move into place failed: the operations
        before that one stay done.
        """
        if not operations:
            return
        with self.lock():
            prepared = self._prepare(operations)
            positions = self._append_to_journal(operations, prepared) if self.journaled else []
            for number, (operation, temporaries) in enumerate(zip(operations, prepared, strict=True)):
                try:
                    self._move(operation, temporaries)
                except StoreError:
                    self._withdraw(positions[number:], prepared[number:])
                    raise
            if not self.journaled:
                for folder in {os.path.dirname(path) for temporaries in prepared for path in temporaries}:
                    atomic.sync_folder(folder)

    def recover(self, *, must: bool = False) -> int:
        """Finish what a killed process left half done; return the number of files changed.

        If nothing can be written, leave it for later, so that the store can still be read; with `must`, raise StoreError.
        """
        if not self.journaled or self.journal.is_empty():
            return 0
        try:
            with self.lock():
                return self.journal.recover(self.root)
        except StoreError:
            if must:
                raise
            return 0

    def sweep(self, temporaries: Sequence[str]) -> None:
        """Delete temporaries (store paths) of killed writers, unless a writer is at work.

        Writers hold the lock from the first temporary to the last move.
        """
        with contextlib.suppress(OSError, StoreError), self.lock().tried() as acquired:
            if acquired:
                self.journal.recover(self.root)
                _discard_all([[self.absolute(path) for path in temporaries]])

    def _prepare(self, operations: Sequence[Operation]) -> list[list[str]]:
        prepared: list[list[str]] = []
        many = sum(len(operation.changes) for operation in operations) >= MANY
        real_folders = {self.root}
        try:
            for operation in operations:
                prepared.append([])
                for change in operation.changes:
                    path, content = self._check_change(change, real_folders), change.content or b""
                    prepared[-1].append(atomic.prepare(path, content, operation.op, synced=not many))
            if many:
                atomic.sync_files([path for temporaries in prepared for path in temporaries])
        except BaseException:
            _discard_all(prepared)
            raise
        return prepared

    def _check_change(self, change: Change, real_folders: set[str]) -> str:
        """Return the absolute path of a change, checked; `real_folders` caches folders that are not links."""
        path = self.absolute(change.path)
        folder = os.path.dirname(path)
        while folder not in real_folders:
            if os.path.islink(folder):
                raise StoreError(f"{folder} is a symbolic link.", "Engram writes only to real folders.")
            real_folders.add(folder)
            folder = os.path.dirname(folder)
        atomic.check_unchanged(path, change.before)
        return path

    def _append_to_journal(
        self, operations: Sequence[Operation], prepared: Sequence[Sequence[str]]
    ) -> list[int]:
        try:
            return self.journal.append(operations, prepared)
        except BaseException:
            _discard_all(prepared)
            raise

    def _move(self, operation: Operation, temporaries: Sequence[str]) -> None:
        for change, temporary in zip(operation.changes, temporaries, strict=True):
            path = self.absolute(change.path)
            if change.content is None:
                atomic.remove(path)
                atomic.remove(temporary)
            else:
                atomic.move_into_place(temporary, path)

    def _withdraw(self, positions: Sequence[int], prepared: Sequence[Sequence[str]]) -> None:
        """Remove operations that could not be moved into place from the journal.

        If some files of the first one were moved, all stay, and `recover` finishes them.
        """
        if all(os.path.lexists(temporary) for temporary in prepared[0]):
            with contextlib.suppress(OSError):
                if positions:
                    self.journal.cut(positions[0])
                _discard_all(prepared)


def _discard_all(prepared: Sequence[Sequence[str]]) -> None:
    for temporaries in prepared:
        for temporary in temporaries:
            atomic.discard(temporary)
