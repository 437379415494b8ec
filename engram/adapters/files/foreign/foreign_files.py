"""Read and replace files of other programs: links are followed, the mode is kept, and a backup is made."""

from __future__ import annotations

import contextlib
import os
import stat

from engram.adapters.files.durable import atomic
from engram.domain.errors import ConflictError, StoreError

LARGEST = 16 * 1024 * 1024


def read(path: str) -> bytes | None:
    """Return the bytes of a file, following links; None if there is none. Raises StoreError if it is too large or not a file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise atomic.read_error(path, error) from None
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        raise StoreError(f"{path} is not a file that Engram would change.", "Check what is at that path.")
    return atomic.read(os.path.realpath(path))


def replace(path: str, before: bytes | None, after: bytes | None) -> None:
    """Replace the bytes `before` of a file by `after` (None: no file). Raises ConflictError if the file has other bytes."""
    target = os.path.realpath(path)
    if read(path) != before:
        raise ConflictError(
            f"{path} was changed by another program just now.",
            "Nothing was overwritten; run the command again.",
        )
    if after is None:
        atomic.remove(target)
        return
    mode = stat.S_IMODE(os.stat(target).st_mode) if before is not None else None
    temporary = atomic.prepare(target, after, f"connect-{os.getpid()}", mode=0o600)
    try:
        os.chmod(temporary, _mode_of_new(target) if mode is None else mode)
        atomic.move_into_place(temporary, target)
    except BaseException:
        atomic.discard(temporary)
        raise
    atomic.sync_folder(os.path.dirname(target))


def missing_folder(path: str) -> str:
    """Return the topmost folder that writing a file will make; "" if its folder exists."""
    folder, missing = os.path.dirname(os.path.realpath(path)), ""
    while not os.path.isdir(folder):
        folder, missing = os.path.dirname(folder), folder
    return missing


def tidy_up(path: str, backup: str, made: str) -> None:
    """Delete the backup of a restored file, and its empty folders up to `made`."""
    if backup:
        atomic.discard(backup)
    folder = os.path.dirname(os.path.realpath(path))
    with contextlib.suppress(OSError):
        while made and os.path.commonpath((folder, made)) == made:
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def _mode_of_new(path: str) -> int:
    """Return the mode of a new file: texts are public, settings may hold agents' credentials."""
    return 0o644 if path.endswith((".md", ".mdc", ".js")) else 0o600


def back_up(path: str, content: bytes, moment: str, folder: str = "") -> str:
    """Write a backup beside a file or in `folder`, readable only by the owner; return its path. Raises StoreError."""
    target = os.path.realpath(path)
    if folder:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        target = os.path.join(folder, os.path.basename(target))
    for number in range(100):
        copy = f"{target}.engram-{moment}{f'-{number}' if number else ''}.bak"
        if not os.path.lexists(copy):
            temporary = atomic.prepare(copy, content, f"backup-{os.getpid()}", mode=0o600)
            atomic.move_into_place(temporary, copy)
            return copy
    raise StoreError(f"There are too many backups of {path}.", "Delete the older ones.")
