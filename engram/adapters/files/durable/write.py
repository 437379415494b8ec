"""Applying operations to the lore folder: prepare, journal, move; all or nothing for each operation.

Acknowledged means: every file fsynced and in place, and (where a journal is kept) one fsynced journal
line. Without a journal the folders are fsynced instead.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.journal import Change, Journal, Operation
from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MANY = 16  # files; from here on they are synced to the disk together


class LoreFolder:
    """Writes under one store's root, one operation at a time between all processes of the machine."""

    def __init__(self, root: str, state: str, *, journaled: bool) -> None:
        """`root` and `state` are absolute; `journaled` says whether git gets each change from the journal."""
        self.root = root
        self.journal = Journal(state)
        self.journaled = journaled
        self._lock_path = os.path.join(state, "write.lock")

    def lock(self) -> FileLock:
        """Return the store's write lock, to be used with `with`."""
        return FileLock(self._lock_path)

    def absolute(self, path: str) -> str:
        """Return the absolute path of a store path. Raises StoreError for one that leads out of the store."""
        parts = path.split("/")
        if ".." in parts or "" in parts or (os.sep != "/" and os.path.isabs(path)):
            raise StoreError(f"'{path}' leads out of the store.", "Paths of lore are relative to the store.")
        return f"{self.root}/{path}" if os.sep == "/" else os.path.join(self.root, *parts)

    def read(self, path: str) -> bytes:
        """Return the bytes of a store file. Raises NotFoundError, StoreError."""
        return atomic.read(self.absolute(path))

    def apply(self, operations: Sequence[Operation]) -> None:
        """Carry out the operations in order; returns when they are durable.

        Raises ConflictError where a file is not what the operation was computed from, and StoreError where
        the disk or the permissions refuse. Then nothing happened, unless the last step of an operation,
        the move, was refused: then those before it did.
        """
        if not operations:
            return
        with self.lock():
            prepared = self._prepare(operations)
            positions = self._announce(operations, prepared) if self.journaled else []
            for number, (operation, temporaries) in enumerate(zip(operations, prepared, strict=True)):
                try:
                    self._move(operation, temporaries)
                except StoreError:
                    self._take_back(positions[number:], prepared[number:])
                    raise
            if not self.journaled:
                for folder in {os.path.dirname(path) for temporaries in prepared for path in temporaries}:
                    atomic.sync_folder(folder)

    def recover(self, *, must: bool = False) -> int:
        """Finish what a killed process left half done; returns how many files were put in place.

        Where nothing can be written it is left for later, so that the store can still be read; with
        `must` that raises StoreError.
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
        """Delete temporaries (store paths) of killed writers; where a living one is at work, leave it for later.

        Living writers hold the lock from the first temporary to the last move.
        """
        lock = self.lock()
        try:
            if not lock.try_acquire():
                return
            self.journal.recover(self.root)
            _discard_all([[self.absolute(path) for path in temporaries]])
        except (OSError, StoreError):
            return
        finally:
            lock.release()

    def _prepare(self, operations: Sequence[Operation]) -> list[list[str]]:
        prepared: list[list[str]] = []
        many = sum(len(operation.changes) for operation in operations) >= MANY
        try:
            for operation in operations:
                prepared.append([])
                for change in operation.changes:
                    path, content = self._checked(change), change.content or b""
                    prepared[-1].append(atomic.prepare(path, content, operation.op, synced=not many))
            if many:
                atomic.sync_files([path for temporaries in prepared for path in temporaries])
        except BaseException:
            _discard_all(prepared)
            raise
        return prepared

    def _checked(self, change: Change) -> str:
        path = self.absolute(change.path)
        folder = os.path.dirname(path)
        while len(folder) > len(self.root):
            if os.path.islink(folder):
                raise StoreError(f"{folder} is a symbolic link.", "Engram writes only to real folders.")
            folder = os.path.dirname(folder)
        atomic.check_unchanged(path, change.before)
        return path

    def _announce(self, operations: Sequence[Operation], prepared: Sequence[Sequence[str]]) -> list[int]:
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
                atomic.put(temporary, path)

    def _take_back(self, positions: Sequence[int], prepared: Sequence[Sequence[str]]) -> None:
        """Undo the announcement of operations that could not be moved into place.

        One of which some files were moved stays announced, and `recover` finishes it.
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
