"""Walking the lore folder: which files there are, with what a change shows (mtime, size, inode).

Not followed and not opened here: symbolic links (reported), hidden names, and the folders that hold
other things than lore.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.files.atomic import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

SKIPPED_AT_TOP = frozenset({"entities", "agents"})
_EXTENSION = ".md"
_SIGNED = (1 << 63) - 1


class FileStamp(NamedTuple):
    """How a file looked when it was last seen: nanoseconds, bytes, and which inode in which state.

    `inode` also depends on the time of the inode's last change (ctime), which nobody can set back as one
    can the mtime; it fits SQLite's signed 64 bits.
    """

    mtime_ns: int
    size: int
    inode: int


class Scan(NamedTuple):
    """What stands under a lore folder. Paths are relative to the store, with `/`.

    `folders` maps each folder to its mtime in ns; `problems` maps a path to why it is passed over;
    `leftovers` are temporaries of writers, alive or killed.
    """

    files: dict[str, FileStamp]
    folders: dict[str, int]
    problems: dict[str, str]
    leftovers: list[str]


def stamp(absolute: str) -> FileStamp | None:
    """The stamp of one regular file, or None where there is none."""
    try:
        found = os.lstat(absolute)
    except OSError:
        return None
    return _stamp(found) if stat.S_ISREG(found.st_mode) else None


def folder_mtime(absolute: str) -> int:
    """A folder's mtime in ns, or -1 where it is no folder (any more)."""
    try:
        found = os.lstat(absolute)
    except OSError:
        return -1
    return found.st_mtime_ns if stat.S_ISDIR(found.st_mode) else -1


def scan(root: str, top: str) -> Scan:
    """Everything under the lore folder `top` (relative to `root`)."""
    result = Scan({}, {}, {}, [])
    pending = [top]
    while pending:
        folder = pending.pop()
        pending += scan_folder(root, folder, folder == top, result)
    return result


def scan_folder(root: str, folder: str, is_top: bool, into: Scan) -> list[str]:
    """Read one folder into `into`; returns its sub-folders, which are not read."""
    absolute = os.path.join(root, *folder.split("/"))
    mtime = folder_mtime(absolute)
    if mtime < 0:
        return []
    into.folders[folder] = mtime
    inner: list[str] = []
    try:
        entries = os.scandir(absolute)
    except OSError as error:
        into.problems[folder] = f"this folder cannot be read: {error.strerror}"
        return []
    with entries:
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if _entry(entry, path, into) and not (is_top and entry.name in SKIPPED_AT_TOP):
                inner.append(path)
    return inner


def _entry(entry: os.DirEntry[str], path: str, into: Scan) -> bool:
    """Note one entry; says whether it is a folder to go into."""
    name = entry.name
    if name.startswith("."):
        if name.endswith(SUFFIX):
            into.leftovers.append(path)
        return False
    if entry.is_symlink():
        if name.endswith(_EXTENSION) or entry.is_dir():
            into.problems[path] = (
                "this is a symbolic link, which Engram does not follow; put the file itself here"
            )
        return False
    if entry.is_dir(follow_symlinks=False):
        return True
    if name.endswith(_EXTENSION):
        _file(entry, path, into)
    return False


def _file(entry: os.DirEntry[str], path: str, into: Scan) -> None:
    try:
        path.encode()
        found = entry.stat(follow_symlinks=False)
    except UnicodeEncodeError:
        into.problems[path.encode(errors="replace").decode()] = (
            "the file's name is not valid UTF-8; rename it"
        )
        return
    except OSError:
        return
    if stat.S_ISREG(found.st_mode):
        into.files[path] = _stamp(found)
    else:
        into.problems[path] = "this is not a regular file"


def _stamp(found: os.stat_result) -> FileStamp:
    return FileStamp(found.st_mtime_ns, found.st_size, (found.st_ino ^ found.st_ctime_ns) & _SIGNED)


def under(paths: Iterator[str] | dict[str, FileStamp], folder: str) -> list[str]:
    """Those of `paths` that lie directly in `folder`."""
    prefix = folder + "/"
    length = len(prefix)
    return [path for path in paths if path.startswith(prefix) and "/" not in path[length:]]
