"""Walking the lore folder: which files there are, with what a change shows (mtime, size, inode).

Not followed and not opened here: symbolic links (reported), hidden names, and the folders that hold
other things than lore; in a whole store also what its ignore files name.
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

    Settled = Mapping[str, tuple[str, int, int, int]]  # by path: it again, and the three of a FileStamp

_EXTENSION = ".md"
_LINK = "this is a symbolic link, which Engram does not follow; put the file itself here"
SIGNED = (1 << 63) - 1  # the largest number that SQLite holds


class FileStamp(NamedTuple):
    """How a file looked when it was last seen: nanoseconds, bytes, and which inode in which state.

    `inode` also depends on the time of the inode's last change (ctime), which nobody can set back as one
    can the mtime; it fits SQLite's signed 64 bits.
    """

    mtime_ns: int
    size: int
    inode: int


class Scan(NamedTuple):
    """The files below a lore folder. Paths are relative to the store, with `/`.

    `folders` maps each folder to its mtime in ns; `problems` maps a path to why it is passed over;
    `leftovers` are temporaries of writers, alive or killed. `same` are the paths, not among `files`, of those that
    look as they are known to.
    """

    files: dict[str, FileStamp]
    folders: dict[str, int]
    problems: dict[str, str]
    leftovers: list[str]
    same: list[str]


def stamp(absolute: str) -> FileStamp | None:
    """Return the stamp of one regular file, or None where there is none."""
    try:
        found = os.lstat(absolute)
    except OSError:
        return None
    return _stamp(found) if stat.S_ISREG(found.st_mode) else None


def folder_mtime(absolute: str) -> int:
    """Return a folder's mtime in ns, or -1 where it is no folder (any more)."""
    try:
        found = os.lstat(absolute)
    except OSError:
        return -1
    # A folder dated before 1970 is one all the same.
    return max(0, min(found.st_mtime_ns, SIGNED)) if stat.S_ISDIR(found.st_mode) else -1


def scan(root: str, top: str, rules: IgnoreRules | None = None) -> Scan:
    """Everything under the lore folder `top` (relative to `root`) but for what the `rules` leave out."""
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
    """Read one folder into `into`; returns its sub-folders, which are not read.

    `top` is the lore folder, `settled` how files are known to look.
    """
    absolute = os.path.join(root, *folder.split("/")) if folder else root
    mtime = folder_mtime(absolute)
    if mtime < 0:
        _no_folder(absolute, folder, into)
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
            if rules is not None and not entry.name.startswith(".") and _is_left_out(rules, entry, path):
                continue
            if known is not None and _is_same(entry, known):
                into.same.append(path)
            elif _entry(entry, path, into) and may_hold_lore(path, top):
                inner.append(path)
    return inner


def _no_folder(absolute: str, folder: str, into: Scan) -> None:
    """Note why something that should be a folder cannot be read; one that is gone is no problem."""
    try:
        found = os.lstat(absolute)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:  # for example a path longer than the system takes
        into.problems[folder] = f"this folder cannot be read: {error.strerror}"
        return
    into.problems[folder] = _LINK if stat.S_ISLNK(found.st_mode) else "this is not a folder"


def _entry(entry: os.DirEntry[str], path: str, into: Scan) -> bool:
    """Note one entry; says whether it is a folder to go into."""
    name = entry.name
    if name.startswith("."):
        if name.endswith(SUFFIX):
            into.leftovers.append(path)
        return False
    folder, link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
    if not (folder or name.endswith(_EXTENSION) or (link and _leads_to_folder(entry))):
        return False
    if not _is_unicode(name):  # a folder's too: no path with it can be kept in the catalog or shown
        shown = path.encode(errors="replace").decode()
        into.problems[shown] = "the name is not valid UTF-8; rename it"
        return False
    if link:
        into.problems[path] = _LINK
        return False
    if not folder:
        _file(entry, path, into)
    return folder


def _is_same(entry: os.DirEntry[str], known: tuple[str, int, int, int]) -> bool:
    try:
        seen = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    # What an inode is, a file or something else, never changes.
    return (
        seen.st_mtime_ns == known[1]
        and seen.st_size == known[2]
        and (seen.st_ino ^ seen.st_ctime_ns) & SIGNED == known[3]
    )


def _is_left_out(rules: IgnoreRules, entry: os.DirEntry[str], path: str) -> bool:
    is_folder = entry.is_dir(follow_symlinks=False)
    return (is_folder or entry.name.endswith(_EXTENSION)) and rules.ignores(path, is_folder=is_folder)


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:  # a circle of links, or one into a folder that is closed to us
        return True


def _file(entry: os.DirEntry[str], path: str, into: Scan) -> None:
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
    # SQLite and datetime hold the years 1678 to 2262 in nanoseconds; a file may claim any other.
    mtime_ns = max(-SIGNED, min(found.st_mtime_ns, SIGNED))
    return FileStamp(mtime_ns, found.st_size, (found.st_ino ^ found.st_ctime_ns) & SIGNED)


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
