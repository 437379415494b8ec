"""Kernel file locks: held by an open file, so the lock of a killed process is freed.

Not the `filelock` package, which imports asyncio: 35 ms of the 120 that `engram record` may take.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time

from engram.adapters.files.durable import atomic
from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

_POLL_SECONDS = 0.003
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


class FileLock:
    """An exclusive lock on `path`, between processes and between threads that use objects of their own."""

    def __init__(self, path: str, *, timeout: float = 30.0) -> None:
        """`timeout` is how many seconds `with` waits before it raises StoreError."""
        self.path = path
        self.timeout = timeout
        self._handle: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free and return whether it was. Raises OSError if the file cannot be opened or locked."""
        try:
            handle = _open_file(self.path)
        except IsADirectoryError:  # a folder cannot be locked
            os.replace(self.path, f"{self.path}.damaged")
            handle = _open_file(self.path)
        taken = False
        try:
            taken = _lock(handle)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                raise OSError(error.errno, "its file system does not support locks", self.path) from None
            raise
        finally:
            if not taken:
                os.close(handle)
        if taken:
            self._handle = handle
        return taken

    def acquire(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the lock; return whether it was taken. Raises OSError."""
        deadline = time.monotonic() + timeout
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)  # flock has no timeout
        return True

    def release(self) -> None:
        """Release the lock; a no-op if it is not held."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @contextlib.contextmanager
    def tried(self, timeout: float = 0.0) -> Iterator[bool]:
        """Hold the lock for a `with` block if it is free within `timeout` seconds; yield whether it is held. Raises OSError."""
        try:
            yield self.acquire(timeout)
        finally:
            self.release()

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._handle is not None

    def __enter__(self) -> Self:
        try:
            taken = self.acquire(self.timeout)
        except OSError as error:
            raise atomic.write_error(self.path, error) from None
        if not taken:
            raise StoreError(
                f"Another process has held {os.path.basename(self.path)} for {self.timeout:.0f} seconds.",
                "Try again in a moment. If it persists, another Engram command or server is still running in this store.",
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _open_file(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)


if sys.platform == "win32":

    def _lock(handle: int) -> bool:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
