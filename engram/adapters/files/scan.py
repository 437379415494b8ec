"""Scan the lore folder: its files, each with a stamp (mtime, size, inode) that shows changes.

Symbolic links are reported, not followed. Hidden names, folders that hold no entries, and in a whole store also ignored
files are skipped.
"""

from __future__ import annotations

import os
import stat
from types import MappingProxyType

from engram.adapters.files.durable.atomic import SUFFIX
from engram.domain.entry.named_files import below, may_hold_lore
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.files.ignore import IgnoreRules

    Settled = Mapping[str, tuple[str, int, int, int]]  # by path: the path, then the fields of a FileStamp

_EXTENSION = ".md"
_LINK = "this is a symbolic link, which Engram does not follow; put the file itself here"
SIGNED = (1 << 63) - 1  # the largest number that SQLite holds


class FileStamp(NamedTuple):
    """A file's mtime in nanoseconds, size in bytes, and inode.

    `inode` is combined with the ctime, which unlike the mtime cannot be set back; it fits SQLite's signed 64 bits.
    """

    mtime_ns: int
    size: int
    inode: int


class Scan(NamedTuple):
    """The files below a lore folder. Paths are relative to the store, with `/`.

    `folders` maps each folder to its mtime in ns, `problems` a path to the reason why it was skipped.
    `leftovers` are temporaries of writers, alive or killed. `same` are the paths of unchanged files, which are not
    among `files`.
    """

    files: dict[str, FileStamp]
    folders: dict[str, int]
    problems: dict[str, str]
    leftovers: list[str]
    same: list[str]


def stamp(absolute: str) -> FileStamp | None:
    """Return the stamp of a regular file; None for anything else."""
    try:
        found = os.lstat(absolute)
    except OSError:
        return None
    return _stamp(found) if stat.S_ISREG(found.st_mode) else None


def folder_mtime(absolute: str) -> int:
    """Return a folder's mtime in ns; -1 if the path is not a folder."""
    try:
        found = os.lstat(absolute)
    except OSError:
        return -1
    # A date before 1970 must not look like -1.
    return max(0, min(found.st_mtime_ns, SIGNED)) if stat.S_ISDIR(found.st_mode) else -1


def scan(root: str, top: str, rules: IgnoreRules | None = None) -> Scan:
    """Scan everything under the lore folder `top` (relative to `root`) that the `rules` do not ignore."""
    result = Scan({}, {}, {}, [], [])
    pending = [top]
    while pending:
        folder = pending.pop()
        pending += scan_folder(root, folder, top, result, rules=rules)
    return result


def scan_folder(
    root: str,
    folder: str,
    top: str,
    into: Scan,
    settled: Settled = MappingProxyType({}),
    rules: IgnoreRules | None = None,
) -> list[str]:
    """Scan one folder into `into`; return its sub-folders, which are not scanned.

    `top` is the lore folder, `settled` has the known state of files.
    """
    absolute = os.path.join(root, *folder.split("/")) if folder else root
    mtime = folder_mtime(absolute)
    if mtime < 0:
        _note_bad_folder(absolute, folder, into)
        return []
    into.folders[folder] = mtime
    inner: list[str] = []
    before = below(folder)
    try:
        entries = os.scandir(absolute)
    except OSError as error:
        into.problems[folder] = f"this folder cannot be read: {error.strerror}"
        return []
    with entries:
        for entry in entries:
            path = before + entry.name
            known = settled.get(path)
            if rules is not None and not entry.name.startswith(".") and _is_ignored(rules, entry, path):
                continue
            if known is not None and _is_same(entry, known):
                into.same.append(path)
            elif _scan_entry(entry, path, into) and may_hold_lore(path, top):
                inner.append(path)
    return inner


def _note_bad_folder(absolute: str, folder: str, into: Scan) -> None:
    """Note why a folder cannot be read; one that no longer exists is not a problem."""
    try:
        found = os.lstat(absolute)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:  # for example, the path is too long
        into.problems[folder] = f"this folder cannot be read: {error.strerror}"
        return
    into.problems[folder] = _LINK if stat.S_ISLNK(found.st_mode) else "this is not a folder"


def _scan_entry(entry: os.DirEntry[str], path: str, into: Scan) -> bool:
    """Scan a directory entry; return whether it is a folder to scan."""
    name = entry.name
    if name.startswith("."):
        if name.endswith(SUFFIX):
            into.leftovers.append(path)
        return False
    folder, link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
    if not (folder or name.endswith(_EXTENSION) or (link and _leads_to_folder(entry))):
        return False
    if not _is_unicode(name):  # of a folder as well: no path with it can be stored in the catalog or shown
        shown = path.encode(errors="replace").decode()
        into.problems[shown] = "the name is not valid UTF-8; rename it"
        return False
    if link:
        into.problems[path] = _LINK
        return False
    if not folder:
        _scan_file(entry, path, into)
    return folder


def _is_same(entry: os.DirEntry[str], known: tuple[str, int, int, int]) -> bool:
    try:
        seen = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    # The type of an inode never changes, so it need not be compared.
    return (
        seen.st_mtime_ns == known[1]
        and seen.st_size == known[2]
        and (seen.st_ino ^ seen.st_ctime_ns) & SIGNED == known[3]
    )


def _is_ignored(rules: IgnoreRules, entry: os.DirEntry[str], path: str) -> bool:
    is_folder = entry.is_dir(follow_symlinks=False)
    return (is_folder or entry.name.endswith(_EXTENSION)) and rules.ignores(path, is_folder=is_folder)


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:  # a circle of links, or a link into a folder without access
        return True


def _scan_file(entry: os.DirEntry[str], path: str, into: Scan) -> None:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        into.problems[path] = f"this file cannot be looked at: {error.strerror}"
        return
    if stat.S_ISREG(found.st_mode):
        into.files[path] = _stamp(found)
    else:
        into.problems[path] = "this is not a regular file"


def _stamp(found: os.stat_result) -> FileStamp:
    # In nanoseconds SQLite and datetime hold the years 1678 to 2262; a file may have any other.
    mtime_ns = max(-SIGNED, min(found.st_mtime_ns, SIGNED))
    return FileStamp(mtime_ns, found.st_size, (found.st_ino ^ found.st_ctime_ns) & SIGNED)


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
