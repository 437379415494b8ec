"""The folder of a clone's own ledgers: append-only files, each line of which is fsynced before it counts."""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.domain.entry import ulid
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOCK_SECONDS = 10.0
_TAIL = 4096  # bytes, more than the longest line has


class Stamp(NamedTuple):
    """The size (bytes) and inode of a ledger, which tell whether it has only grown since."""

    size: int
    inode: int


class LedgerFolder:
    """The ledgers in a store's state folder. Paths are relative to `folder`, with `/`."""

    def __init__(self, state: str) -> None:
        """Make nothing; the first line makes the folder. `state` is absolute."""
        self.folder = os.path.join(state, "judgements")

    def stamps(self, folders: Sequence[str], files: Sequence[str] = ()) -> dict[str, Stamp]:
        """Return the stamps of the ledgers directly in these folders and of these files, if they exist."""
        found: dict[str, Stamp] = {}
        for path in files:
            with contextlib.suppress(OSError):
                facts = os.stat(os.path.join(self.folder, path))
                found[path] = Stamp(facts.st_size, facts.st_ino)
        for folder in folders:
            with contextlib.suppress(OSError), os.scandir(os.path.join(self.folder, folder)) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl"):
                        facts = entry.stat(follow_symlinks=False)
                        found[f"{folder}/{entry.name}"] = Stamp(facts.st_size, facts.st_ino)
        return found

    def writers(self) -> list[str]:
        """Return the ids of the clones that wrote here, oldest first: only one, unless this clone once lost its id."""
        found = []
        for folder, _, files in os.walk(self.folder):
            name = os.path.basename(folder)
            if ulid.is_valid(name) and any(file.endswith(".jsonl") for file in files):
                found.append(name)
        return sorted(found)

    def read(self, path: str, start: int = 0) -> bytes:
        """Return the bytes of a ledger from `start` on; b"" if there is none. Raises StoreError."""
        try:
            with open(os.path.join(self.folder, path), "rb") as file:
                file.seek(start)
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise _write_error(self.folder, error) from None

    def last_line(self, path: str, size: int) -> bytes:
        """Return the last line of a ledger of `size` bytes; b"" if there is none. Raises StoreError."""
        return self.read(path, max(0, size - _TAIL)).rstrip(b"\n").rsplit(b"\n", 1)[-1]

    def copy_to(self, other: LedgerFolder) -> None:
        """Add every line of this folder to `other`, which keeps its own. Raises StoreError."""
        from engram.domain.judgements.ledger import unite

        if not os.path.isdir(self.folder):
            return
        try:
            with self._lock(), other._lock():
                for path in self._paths():
                    old, new = other.read(path), unite(self.read(path), other.read(path))
                    if new != old:
                        name = os.path.join(other.folder, *path.split("/"))
                        os.makedirs(os.path.dirname(name), exist_ok=True)
                        atomic.write(name, new, "judgements")
                        other._sync_folders(os.path.dirname(name))
        except OSError as error:
            raise _write_error(other.folder, error) from None

    def append(self, make: Callable[[], dict[str, bytes]]) -> None:
        """Append lines to ledgers and fsync them. Raises StoreError, and then none of them counts.

        `make` is called under the lock and returns the lines for each path.
        """
        try:
            with self._lock():
                for path, lines in make().items():
                    self._append(path, lines)
        except OSError as error:
            raise _write_error(self.folder, error) from None

    def change(self, path: str, make: Callable[[bytes], bytes]) -> None:
        """Replace the bytes of a file that is not a ledger by `make(bytes)`. Raises StoreError."""
        try:
            with self._lock():
                atomic.write(os.path.join(self.folder, path), make(self.read(path)), "judgements")
        except OSError as error:
            raise _write_error(self.folder, error) from None

    def _lock(self) -> FileLock:
        os.makedirs(self.folder, exist_ok=True)
        return FileLock(os.path.join(self.folder, "lock"), timeout=_LOCK_SECONDS)

    def _paths(self) -> list[str]:
        """Return the paths of all ledgers."""
        found = []
        for folder, _, names in os.walk(self.folder):
            paths = (os.path.relpath(os.path.join(folder, name), self.folder) for name in names)
            found += [path.replace(os.sep, "/") for path in paths if path.endswith(".jsonl")]
        return sorted(found)

    def _append(self, path: str, lines: bytes) -> None:
        name = os.path.join(self.folder, path)
        is_new = not os.path.exists(name)
        if is_new:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        atomic.append(name, lines)
        if is_new:
            self._sync_folders(os.path.dirname(name))

    def _sync_folders(self, folder: str) -> None:
        """Fsync a folder and its parents up to the ledgers' own, which makes a new file's name durable."""
        while len(folder) >= len(self.folder):
            atomic.sync_folder(folder)
            folder = os.path.dirname(folder)


def _write_error(folder: str, error: OSError) -> StoreError:
    return StoreError(
        f"A judgement cannot be written to {folder}: {error.strerror}.",
        "Nothing was recorded. Check for a full disk or missing permissions, then try again.",
    )
