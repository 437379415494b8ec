"""Find the differences between the files on disk and the index: by folder times, by file times, or for given files.

The time of a folder changes when a file is created, moved or deleted in it, which is how git and most editors write. A
file written in place is only detected by its own time, in a check of all files (a sweep), or reported by the system (a
watch).
"""

from __future__ import annotations

import os
from types import MappingProxyType

from engram.adapters.files import scan as walk
from engram.adapters.files.scan import FileStamp, Scan
from engram.domain.entry.named_files import below
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index import freshness

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Sequence

    from engram.adapters.files.ignore import IgnoreRules
    from engram.adapters.files.scan import Settled
    from engram.adapters.index.catalog import Known
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

RACY_NS = 2_000_000_000
MANY_FOLDERS, _FOLDER_SHARE = 20, 5  # more than 20, and at least a fifth of all


class Delta(NamedTuple):
    """The differences between disk and index: files to read, deleted files, new folder times, deleted folders.

    `known` has the index's records of the files to read and the deleted ones.
    """

    files: dict[str, FileStamp]
    gone: list[str]
    folders: dict[str, int]
    gone_folders: list[str]
    scan_problems: dict[str, str]
    known: dict[str, Known]

    @property
    def is_empty(self) -> bool:
        """Whether there are no differences."""
        return not (self.files or self.gone or self.folders or self.gone_folders or self.scan_problems)


class Refreshed(NamedTuple):
    """The result of a refresh. `fresh` is False if another process holds the index and this one did not wait."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: int = 0
    rebuilt: str = ""
    fresh: bool = True


def scan_all(store: Store, now: int) -> Delta:
    """Return everything on disk, for a rebuild; `now` is in ns."""
    found, pending, rules = Scan({}, {}, {}, [], []), [store.places.folder], store.ignore_rules()
    while pending:
        pending += _read_folder(store, pending.pop(), found, rules=rules)
    _sweep_leftovers(store, found)
    return Delta(found.files, [], safe_times(found.folders, now), [], found.problems, {})


def sweep(store: Store, generation: Generation, now: int) -> Delta:
    """Return all differences: read the changed folders, and check every known file."""
    paths_to_check, files = set[str](), set[str]()
    lstat, signed, prefix = os.lstat, walk.SIGNED, store.places.root + "/"
    for path, mtime_ns, size, inode in generation.stamps(RACY_NS):
        try:
            status = lstat(prefix + path)
        except OSError:
            paths_to_check.add(path)
            continue
        if (
            status.st_size != size
            or status.st_mtime_ns != mtime_ns
            or (status.st_ino ^ status.st_ctime_ns) & signed != inode
        ):
            (files if mtime_ns or inode else paths_to_check).add(path)
    return scan_folders(store, generation, now, _folders_of(store, generation, paths_to_check), files)


def _folders_of(store: Store, generation: Generation, paths: Iterable[str]) -> set[str]:
    """Return the folders to read again for paths that were deleted, are no regular file, or are an unreadable folder."""
    top = store.places.folder
    found = {path if path in generation.folders else _folder(path) for path in paths}
    return {folder for folder in found if f"{folder}/".startswith(below(top))}


def scan_folders(
    store: Store,
    generation: Generation,
    now: int,
    folders: Iterable[str] = (),
    files: Iterable[str] = (),
    touched: Container[str] = (),
    *,
    reported: bool = False,
) -> Delta:
    """Return the differences in folders whose time changed, in `folders` and new ones below them, and of `files`.

    If these were `reported` by a watch and the rest was checked a moment ago, no other folder is checked. A folder that
    was only `touched` is not read, as `files` has those created or removed in it. It is read when its time is next
    checked, as the system may not have reported everything.
    """
    root, top = store.places.root, store.places.folder
    found, rules = Scan({}, {}, {}, [], []), store.ignore_rules()
    visited: set[str] = set()
    moved = (
        set() if reported and freshness.is_watch_trusted(store) else set(_changed_folders(generation, root))
    )
    postponed = {folder for folder in moved if folder in touched}
    stamps, gone, other_folders = _stat_files(root, files)
    pending = [*(moved - postponed), *folders, *other_folders] or ([] if generation.folders else [top])
    settled = _read_stamps(generation, len(pending))
    while pending:
        folder = pending.pop()
        if folder not in visited:
            visited.add(folder)
            inner = _read_folder(store, folder, found, settled, rules)
            pending += [
                sub for sub in inner if sub not in generation.folders or not freshness.is_watched(store, sub)
            ]
    visited |= _drop_unreachable(generation, visited, found)
    _sweep_leftovers(store, found)
    if settled:
        paths = {path for path in settled if _folder(path) in visited} | gone
    else:
        paths = {path for folder in visited for path in generation.catalog.children(folder)} | gone
    found.files.update(
        {
            path: stamp
            for path, stamp in stamps.items()
            if _folder(path) not in visited and not (rules and rules.ignores(path))
        }
    )
    found.folders.update(dict.fromkeys(postponed - visited, 0))
    known = generation.catalog.known(sorted((paths | set(found.files)).difference(found.same)))
    return _compare(generation, found, known, now, paths & set(known), visited)


def _drop_unreachable(generation: Generation, visited: Collection[str], found: Scan) -> set[str]:
    """Drop everything found below folders that are deleted, unreadable or symlinks; return those folders."""
    lost = tuple([f"{folder}/" for folder in visited if folder not in found.folders])
    below = {folder for folder in generation.folders if folder.startswith(lost)} if lost else set()
    for folder in below:
        found.folders.pop(folder, None)
    if below:
        found.same[:] = [path for path in found.same if not path.startswith(lost)]
        for path in [path for path in found.files if path.startswith(lost)]:
            del found.files[path]
    return below


def _read_stamps(generation: Generation, folders: int) -> Settled:
    """Return the stamps of all files if so many folders are read that separate look-ups would take longer."""
    if folders <= MANY_FOLDERS or folders * _FOLDER_SHARE < len(generation.folders):
        return {}
    return {stamp[0]: stamp for stamp in generation.stamps(RACY_NS)}


def _stat_files(root: str, files: Iterable[str]) -> tuple[dict[str, FileStamp], set[str], set[str]]:
    """Return the stamps of files, the deleted files, and the folders of paths that are not regular files."""
    stamps, gone, other_folders = dict[str, FileStamp](), set[str](), set[str]()
    for path in files:
        stamp = walk.stamp(f"{root}/{path}")
        if stamp is not None:
            stamps[path] = stamp
        elif os.path.lexists(f"{root}/{path}"):
            other_folders.add(_folder(path))
        else:
            gone.add(path)
    return stamps, gone, other_folders


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def scan_files(store: Store, generation: Generation, paths: Sequence[str]) -> Delta:
    """Return the given files as changed, whatever their times."""
    stamps = {path: walk.stamp(store.files.absolute(path)) for path in paths}
    existing = {path: stamp for path, stamp in stamps.items() if stamp is not None}
    gone = [path for path in paths if path not in existing]
    return Delta(existing, gone, {}, [], {}, generation.catalog.known(paths))


def add_judged(generation: Generation, delta: Delta, paths: Collection[str]) -> Delta:
    """Add unchanged files whose judgements changed to the differences."""
    included = {*delta.files, *delta.gone, *delta.scan_problems}
    known = generation.catalog.known(sorted(set(paths) - included)) if paths else {}
    if not known:
        return delta
    stamps = {path: FileStamp(*file.stamp) for path, file in known.items()}
    return delta._replace(files={**stamps, **delta.files}, known={**known, **delta.known})


def folders_changed(store: Store, generation: Generation) -> bool:
    """Whether the time of any folder changed since it was read."""
    root = store.places.root
    if not generation.folders:
        return os.path.isdir(f"{root}/{store.places.folder}")
    return next(_changed_folders(generation, root), None) is not None


def unread_files(store: Store, generation: Generation | None, prefix: str) -> list[str]:
    """Return the entry files whose names begin with a prefix, in all folders changed since the index read them."""
    known = generation.folders if generation is not None else {}
    folders = (
        [*_changed_folders(generation, store.places.root)] if generation and known else [store.places.folder]
    )
    found = []
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(f"{store.places.root}/{folder}") as entries:
                for entry in entries:
                    if entry.name.startswith(prefix) and entry.name.endswith(".md"):
                        found.append(below(folder) + entry.name)
                    elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                        subfolder = below(folder) + entry.name
                        folders += [subfolder] if subfolder not in known else []
        except OSError:
            continue
    return found


def _changed_folders(generation: Generation, root: str) -> Iterator[str]:
    """Yield the folders whose time differs, and those deleted."""
    lstat, prefix = os.lstat, root + "/"
    for folder, known in generation.folders.items():
        try:
            if lstat(prefix + folder).st_mtime_ns != known:
                yield folder
        except OSError:
            yield folder


def safe_times(folders: dict[str, int], now: int) -> dict[str, int]:
    """Return folder times, with 0 for recent ones (two seconds): another change may not show in them, so they are read again."""
    return {folder: 0 if now - mtime < RACY_NS else mtime for folder, mtime in folders.items()}


def _read_folder(
    store: Store,
    folder: str,
    into: Scan,
    settled: Settled = MappingProxyType({}),
    rules: IgnoreRules | None = None,
) -> list[str]:
    """Read a folder and return its subfolders. It is watched first, so that no change is missed in between."""
    freshness.watch_folder(store, folder)
    return walk.scan_folder(store.places.root, folder, store.places.folder, into, settled, rules)


def _sweep_leftovers(store: Store, found: Scan) -> None:
    if found.leftovers:
        store.files.sweep(found.leftovers)


def _compare(
    generation: Generation, found: Scan, known: dict[str, Known], now: int, paths: set[str], folders: set[str]
) -> Delta:
    changed = {path: stamp for path, stamp in found.files.items() if _differs(stamp, known.get(path))}
    gone = sorted(paths - set(found.files) - set(found.problems))
    times = safe_times(found.folders, now)
    moved = {folder: time for folder, time in times.items() if generation.folders.get(folder) != time}
    problems = {p: why for p, why in found.problems.items() if p not in known or known[p].digest != why}
    gone_folders = sorted(folders & set(generation.folders) - set(found.folders))
    return Delta(changed, gone, moved, gone_folders, problems, known)


def _differs(stamp: FileStamp, known: Known | None) -> bool:
    """Whether a file must be read again: it is new, has another stamp, or changed too recently to tell by its time."""
    return known is None or stamp != known.stamp or known.seen_ns - stamp.mtime_ns < RACY_NS
