"""A clone that may only be read: its private state is kept elsewhere, so that it is recalled from as usual.

In the user's cache, or where that cannot be written either in a folder of the system's temporary one, or else in memory, which
a container has even where its whole file system is read-only. What the clone's own
state says (what is in quarantine, whose settings were accepted) is copied first, and again whenever it changes.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files import places
from engram.adapters.files.durable.atomic import digest
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_COPIED = "copied"  # its time is that of the newest file copied
_LEDGER = "judgements"
_MEMORY = "/dev/shm"  # noqa: S108 - below it only a folder that is this user's alone
_LEFT_OUT = ("journal", "live.jsonl", _COPIED)


def writable(state: str) -> str:
    """Return a private state folder, or the one that stands in for it where nothing may be written there."""
    nearest = state
    while not os.path.isdir(nearest) and os.path.dirname(nearest) != nearest:
        nearest = os.path.dirname(nearest)
    if os.access(nearest, os.W_OK | os.X_OK):
        return state
    folder = _stand_in(state)
    if folder is None:
        return state
    with contextlib.suppress(OSError):
        _copy(state, folder)
    return folder


def _stand_in(state: str) -> str | None:
    """Make the folder that stands in for one; None where there is no place for it that is this user's alone."""
    name = digest(os.path.realpath(state).encode())
    for base in _bases():
        folder = os.path.join(base, "read-only", name)
        with contextlib.suppress(OSError):
            os.makedirs(base, mode=0o700, exist_ok=True)
            is_ours = not hasattr(os, "getuid") or os.stat(base).st_uid == os.getuid()
            if is_ours and not os.path.islink(base) and os.access(base, os.W_OK | os.X_OK):
                os.makedirs(folder, mode=0o700, exist_ok=True)
                return folder
    return None


def _bases() -> Iterator[str]:
    """Yield the folders to try; a machine on which nothing may be written has no temporary one."""
    import tempfile

    yield places.cache_folder()
    user = f"engram-{os.getuid()}" if hasattr(os, "getuid") else "engram"
    with contextlib.suppress(OSError):
        yield os.path.join(tempfile.gettempdir(), user)
    if os.path.isdir(_MEMORY):
        yield os.path.join(_MEMORY, user)


def _copy(state: str, folder: str) -> None:
    """Copy what the state says, unless that was done since it changed. Raises OSError."""
    import shutil

    if not os.path.isdir(state):
        return
    ledger = os.path.join(state, _LEDGER)
    found = [*_files(state), *(_files(ledger) if os.path.isdir(ledger) else ())]
    newest = max((os.stat(path).st_mtime_ns for path in found), default=0)
    mark = os.path.join(folder, _COPIED)
    if os.path.exists(mark) and os.stat(mark).st_mtime_ns == newest:
        return
    for path in found:
        target = os.path.join(folder, os.path.relpath(path, state))
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        temporary = f"{target}.{os.getpid()}.tmp"
        shutil.copyfile(path, temporary)
        os.replace(temporary, target)
    with open(mark, "wb"):
        pass
    os.utime(mark, ns=(newest, newest))


def _files(folder: str) -> list[str]:
    """Return the files of a state folder that say something; locks, journals and the activity log do not."""
    return [
        entry.path
        for entry in os.scandir(folder)
        if entry.is_file() and not entry.name.endswith(".lock") and not entry.name.startswith(_LEFT_OUT)
    ]
