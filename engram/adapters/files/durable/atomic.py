"""Atomic writes: a temporary file beside the target is fsynced, then moved into place if the target is unchanged.

`os.replace` within one folder is atomic, so a reader sees the old bytes or the new ones, never a part.
"""

from __future__ import annotations

import contextlib
import errno
import os

from engram.domain.errors import ConflictError, NotFoundError, StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

READABLE = 0o644
PREFIX = "."
SUFFIX = ".engram-tmp"
DIGEST_BYTES = 16
# Symbolic links are refused, and a pipe does not block the reader.
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
_BLOCK = 1 << 16
_SYNC_THREADS = 8


def digest(raw: bytes) -> str:
    """Return a short blake2b of a file's bytes (32 hexadecimal digits)."""
    from hashlib import blake2b  # 4 ms of start-up, and queries need no digest

    return blake2b(raw, digest_size=DIGEST_BYTES).hexdigest()


def read(path: str) -> bytes:
    """Return the bytes of a regular file. Raises NotFoundError, StoreError."""
    try:
        handle = os.open(path, _READ_FLAGS)
    except FileNotFoundError:
        raise NotFoundError(f"{path} is gone.", "It may have been deleted or renamed just now.") from None
    except OSError as error:
        raise read_error(path, error) from None
    try:
        found = os.read(handle, _BLOCK)
        if len(found) < _BLOCK:
            return found
        parts = [found]
        while parts[-1]:
            parts.append(os.read(handle, _BLOCK))
        return b"".join(parts)
    except OSError as error:
        raise read_error(path, error) from None
    finally:
        os.close(handle)


def current_digest(path: str) -> str | None:
    """Return the digest of the file at `path`, None if there is none. Raises StoreError."""
    try:
        return digest(read(path))
    except NotFoundError:
        return None


def holds(path: str, expected: str | None) -> bool:
    """Return whether the file at `path` has this digest (None: there is no file); False for a link or an unreadable file."""
    try:
        return current_digest(path) == expected
    except StoreError:
        return False


def prepare(path: str, content: bytes, token: str, mode: int = READABLE, *, synced: bool = True) -> str:
    """Write `content` to a temporary file in the folder of `path`, fsync it and return its path.

    `mode` is limited by the umask and, by default, by the folder's mode, so that files in a private folder are private.
    With `synced=False`, call `sync_files` afterwards.

    Raises StoreError (disk full, no permission), leaving nothing behind.
    """
    temporary = _temporary_path(path, token)
    try:
        folder = os.path.dirname(path)
        try:
            folder_mode = os.stat(folder).st_mode
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            folder_mode = os.stat(folder).st_mode
        if mode == READABLE:
            mode &= folder_mode
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        try:
            _write_all(handle, content)
            if synced:
                os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        discard(temporary)
        raise write_error(path, error) from None
    return temporary


def append(path: str, lines: bytes) -> int:
    """Append lines durably, all or none, to a private file; return the offset at which they begin. Raises OSError.

    If a killed writer left the last line unfinished, a line end is written first.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    try:
        size = os.fstat(handle).st_size
        ending = _missing_newline(handle, size)
        try:
            _write_all(handle, ending + lines)
            os.fsync(handle)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, size)
            raise
        return size + len(ending)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    """Write all bytes, in as many calls as it takes. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _missing_newline(handle: int, size: int) -> bytes:
    """Return a newline if the last line of a file of `size` bytes has none. Raises OSError."""
    if size == 0:
        return b""
    os.lseek(handle, size - 1, os.SEEK_SET)
    return b"" if os.read(handle, 1) == b"\n" else b"\n"


def sync_files(paths: Sequence[str]) -> None:
    """Fsync many files in parallel, which takes a fraction of the time. Raises StoreError."""
    import threading

    failed: list[StoreError] = []

    def sync(share: Sequence[str]) -> None:
        for path in share:
            try:
                handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
            except OSError as error:
                failed.append(write_error(path, error))

    threads = [threading.Thread(target=sync, args=(paths[n::_SYNC_THREADS],)) for n in range(_SYNC_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def check_unchanged(path: str, before: str | None) -> None:
    """Raise ConflictError unless the file at `path` still has the digest `before` (None: still does not exist)."""
    if before is None and not os.path.lexists(path):
        return
    current = current_digest(path)
    if current != before:
        what = "was deleted" if current is None else "was changed" if before else "appeared"
        raise ConflictError(
            f"{path} {what} by someone else while it was being written.",
            "Nothing was overwritten; check the file and try again.",
        )


def move_into_place(temporary: str, path: str) -> None:
    """Move a prepared file into place. Raises StoreError."""
    try:
        os.replace(temporary, path)
    except OSError as error:
        raise write_error(path, error) from None


def discard(path: str) -> None:
    """Delete a file if it exists. Raises OSError."""
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        if os.path.lexists(path):  # a read-only file system refuses even if there is no file
            raise


def remove(path: str) -> None:
    """Delete a file if it exists. Raises StoreError."""
    try:
        discard(path)
    except OSError as error:
        raise write_error(path, error) from None


def sync_folder(folder: str) -> None:
    """Make renames in `folder` durable (a no-op where folders cannot be opened, as on Windows)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)


def write(path: str, content: bytes, token: str, mode: int = READABLE) -> None:
    """Create or replace `path` durably, without comparing, with this mode. Raises StoreError."""
    token = f"{token}-{os.getpid()}"
    discard(_temporary_path(path, token))  # left by a killed process with the same id
    move_into_place(prepare(path, content, token, mode), path)
    sync_folder(os.path.dirname(path))


def _temporary_path(path: str, token: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{PREFIX}{name[:80]}.{token}{SUFFIX}")


def write_error(path: str, error: OSError) -> StoreError:
    """Return the StoreError for a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(
            f"The disk is full: {path} was not written.", "Free some space and try again; nothing was lost."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"No permission to write {path}.", "Check the folder's owner and mode, or use another store."
        )
    return StoreError(f"{path} could not be written: {error.strerror or error}.", "Nothing was changed.")


def read_error(path: str, error: OSError) -> StoreError:
    """Return the StoreError for a failed read."""
    if error.errno == errno.ELOOP:
        return StoreError(
            f"{path} is a symbolic link.",
            "Engram does not follow links in the lore folder; put the file itself there.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return StoreError(f"No permission to read {path}.", "Check the file's owner and mode.")
    return StoreError(f"{path} could not be read: {error.strerror or error}.")
