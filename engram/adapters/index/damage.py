"""Damage of the index, as distinct from bugs: the exceptions of SQLite, tantivy and the vector file for broken files."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager

from engram.domain.errors import StoreError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

VECTORS, STARTS = "vectors.i8", "starts.u32"
START_BYTES = 4


class DamagedIndexError(StoreError):
    """The index on disk cannot be used; it is a cache, so the remedy is to rebuild it."""

    code = "index"

    def __init__(self, message: str) -> None:
        super().__init__(message, "The index is a cache: `engram doctor --fix` rebuilds it from the files.")


class IndexUnavailableError(StoreError):
    """The index cannot be written now (disk full, read-only, held by another process)."""

    code = "index"


@contextmanager
def converting_damage() -> Iterator[None]:
    """Convert the exceptions of a broken index to DamagedIndexError, those of a full disk to IndexUnavailableError.

    tantivy reports broken files as ValueError or as a pyo3 PanicException, a BaseException that `except Exception`
    misses; SQLite returns a value of another type, or none, if a page was changed.
    """
    try:
        yield
    except sqlite3.Error as error:
        if is_refused(error):
            raise _unavailable(str(error)) from error
        raise DamagedIndexError(f"catalog: {error}") from error
    except OSError as error:
        raise _convert_os_error(error) from error
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, EOFError) as error:
        text = str(error)
        if "PermissionDenied" in text:  # like the words below, part of tantivy's dump of its own error
            raise DamagedIndexError("no permission to read part of its words") from error
        if any(word in text for word in ("LockBusy", "No space", "Read-only")):
            raise _unavailable(text) from error
        raise DamagedIndexError(text) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise DamagedIndexError(str(error)) from error
        raise


def is_refused(error: sqlite3.Error) -> bool:
    """Return whether the system or another process refused an operation of SQLite, which says nothing about its file."""
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(
        ("SQLITE_IOERR_SHM", "SQLITE_IOERR_WRITE")
    ):  # no room for the files beside the database
        return True
    return any(word in str(error) for word in ("locked", "readonly", "full", "unable to open", "busy"))


def _convert_os_error(error: OSError) -> StoreError:
    """Return DamagedIndexError for a file that is missing, a folder, or unreadable; else IndexUnavailableError."""
    name = error.filename
    if isinstance(error, FileNotFoundError):
        return DamagedIndexError(f"missing: {name}")
    if isinstance(error, IsADirectoryError):
        return DamagedIndexError(f"a folder stands where a file belongs: {name}")
    if isinstance(error, PermissionError) and os.path.isfile(name or "") and not os.access(name, os.R_OK):
        return DamagedIndexError(f"no permission to read {name}")
    if error.errno is None and "No space" not in str(error):  # shutil's list of the files it could not copy
        return DamagedIndexError("some of its files cannot be read")
    return _unavailable(error.strerror or str(error))


def check_vectors(folder: str, dimensions: int, rows: int, slots: int) -> None:
    """Raise ValueError unless the vector files hold at least this many rows and vectors.

    Reading a mapping past a file's end kills the process, so this is also checked when an index is opened.
    """
    vectors, starts = os.path.join(folder, VECTORS), os.path.join(folder, STARTS)
    if _size(vectors) < slots * dimensions or _size(starts) < rows * START_BYTES:
        raise ValueError("the vector file is shorter than the catalog says")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _unavailable(reason: str) -> IndexUnavailableError:
    if any(word in reason for word in ("No space", "is full")):
        reason = "the disk is full"
    return IndexUnavailableError(
        f"The search index cannot be written now: {reason}.",
        "Lore is safe in its files; free space or fix permissions, then `engram reindex`.",
    )
