"""The write journal: what was acknowledged and is not in git yet, one fsynced JSON line per operation.

A line is written before its file is moved into place and names the prepared temporary; a temporary
that is still there is a move that never happened, and whoever opens the store finishes it (`recover`).
The committer takes whole batches by renaming the journal (`take`) and deletes a batch once git has it
(`done`); replay is idempotent because each commit carries its batch's name.
"""

from __future__ import annotations

import contextlib
import json
import os
from itertools import accumulate

from engram.adapters.files.durable import atomic
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeGuard

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
    """One acknowledged change of the store: what the commit will say and which files it touches."""

    op: str
    moment: int
    subject: str
    trailers: tuple[tuple[str, str], ...]
    changes: tuple[Change, ...]


class Journal:
    """The journal in one state folder. Appending and taking happen under the store's write lock."""

    def __init__(self, folder: str) -> None:
        """`folder` is the store's private state folder (absolute); it exists."""
        self.folder = folder
        self.path = os.path.join(folder, _NAME)

    def append(self, operations: Sequence[Operation], temporaries: Sequence[Sequence[str]]) -> list[int]:
        """Add operations with one fsync; returns where in the journal each begins.

        On failure the journal is as it was. Raises StoreError.
        """
        lines = [_line(operation, paths) for operation, paths in zip(operations, temporaries, strict=True)]
        size = -1  # until it is known
        handle = -1
        try:
            handle = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600
            )
            size = os.fstat(handle).st_size
            lines[0] = _line_break(handle, size) + lines[0]
            _write_all(handle, b"".join(lines))
            os.fsync(handle)
            return list(accumulate(map(len, lines[:-1]), initial=size))
        except OSError as error:
            if size >= 0:
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, size)
            raise atomic.unwritable(self.path, error) from None
        finally:
            if handle >= 0:
                os.close(handle)

    def cut(self, position: int) -> None:
        """Take back the operations from `position` on, which were just added. Raises OSError."""
        os.truncate(self.path, position)

    def size(self) -> int:
        """Return the bytes of the current journal."""
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    def is_empty(self) -> bool:
        """Return whether nothing waits for git."""
        try:
            return os.stat(self.path).st_size == 0 and not self.batches()
        except FileNotFoundError:
            return not self.batches()

    def batches(self) -> list[str]:
        """Paths of taken batches that are not done, oldest first."""
        try:
            names = [name for name in os.listdir(self.folder) if name.startswith(_BATCH)]
        except FileNotFoundError:
            return []
        return [os.path.join(self.folder, name) for name in sorted(names)]

    def take(self, token: str) -> str | None:
        """Turn the current journal into a batch and return its path; None where it is empty."""
        try:
            if os.stat(self.path).st_size == 0:
                return None
        except FileNotFoundError:
            return None
        batch = os.path.join(self.folder, f"{_BATCH}{token}.jsonl")
        os.rename(self.path, batch)
        return batch

    def waiting(self) -> list[Operation]:
        """Everything acknowledged that git does not have yet, oldest first."""
        return [operation for path in [*self.batches(), self.path] for operation in read_batch(path)]

    def recover(self, root: str) -> int:
        """Finish moves that a crash interrupted; returns how many files were put in place."""
        finished = 0
        for path in [*self.batches(), self.path]:
            for record in _records(path):
                finished += sum(_finish(root, change) for change in record["changes"])
        return finished


def done(batch: str) -> None:
    """Forget a batch that git has."""
    atomic.discard(batch)


def read_batch(path: str) -> list[Operation]:
    """Return the operations of one journal file; a torn last line (never acknowledged) is passed over."""
    return [_operation(record) for record in _records(path)]


def _records(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"The write journal {path} cannot be read: {error.strerror}.", "Check the disk."
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
    """Return whether a line says all that an operation says; a damaged one must not keep the store from opening."""
    try:
        _operation(record)
        return all(
            isinstance(change["path"], str) and isinstance(change["temporary"], str)
            for change in record["changes"]
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _line(operation: Operation, temporaries: Sequence[str]) -> bytes:
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


def _operation(record: dict[str, Any]) -> Operation:
    changes = tuple(
        Change(item["path"], None if item["content"] is None else item["content"].encode(), item["before"])
        for item in record["changes"]
    )
    trailers = tuple((key, value) for key, value in record["trailers"])
    return Operation(str(record["op"]), int(record["moment"]), str(record["subject"]), trailers, changes)


def _finish(root: str, change: dict[str, str | None]) -> bool:
    """Complete one change whose temporary is still there: the move (or deletion) it announces never happened."""
    path = os.path.join(root, *str(change["path"]).split("/"))
    temporary = os.path.join(os.path.dirname(path), str(change["temporary"]))
    if not os.path.exists(temporary):
        return False
    untouched = atomic.holds(path, change["before"])
    if untouched and change["content"] is not None:
        atomic.put(temporary, path)
        return True
    if untouched:
        atomic.discard(path)
    atomic.discard(temporary)
    return untouched


def _line_break(handle: int, size: int) -> bytes:
    """Return a newline if a killed writer left the last line open."""
    if size == 0:
        return b""
    os.lseek(handle, size - 1, os.SEEK_SET)
    return b"" if os.read(handle, 1) == b"\n" else b"\n"


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
