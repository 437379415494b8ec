"""The differences between the files on disk and the index: by the times of folders, by those of files, by name.

The time of a folder changes when a file is made, moved or deleted in it, which is how git and most editors write. A
file written in place shows only by its own time, so all files are checked (a sweep), or the system reports it (a
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
MANY_FOLDERS, MOST_OF_THEM = 20, 5  # more than so many, and a fifth of all


class Delta(NamedTuple):
    """The differences between disk and index: files to read, files gone, new folder times, folders gone.

    `known` is what the index has of the files to read and of those gone.
    """

    files: dict[str, FileStamp]
    gone: list[str]
    folders: dict[str, int]
    gone_folders: list[str]
    scan_problems: dict[str, str]
    known: dict[str, Known]

    @property
    def is_empty(self) -> bool:
        """Test whether there are no differences."""
        return not (self.files or self.gone or self.folders or self.gone_folders or self.scan_problems)


class Refreshed(NamedTuple):
    """What a refresh did. `fresh` is False if another process holds the index and this one did not wait."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: int = 0
    rebuilt: str = ""
    fresh: bool = True


def scan_all(store: Store, now: int) -> Delta:
    """Return everything on disk: what a rebuild starts from. `now` in ns."""
    found, pending, rules = Scan({}, {}, {}, [], []), [store.places.folder], store.ignore_rules()
    while pending:
        pending += _read(store, pending.pop(), found, rules=rules)
    _sweep_leftovers(store, found)
    return Delta(found.files, [], safe_times(found.folders, now), [], found.problems, {})


def sweep(store: Store, generation: Generation, now: int) -> Delta:
    """Return every difference: read the folders that changed, and check every other known file."""
    unclear, files = set[str](), set[str]()
    lstat, signed, prefix = os.lstat, walk.SIGNED, store.places.root + "/"
    for path, mtime_ns, size, inode in generation.stamps(RACY_NS):
        try:
            seen = lstat(prefix + path)
        except OSError:
            unclear.add(path)
            continue
        if (
            seen.st_size != size
            or seen.st_mtime_ns != mtime_ns
            or (seen.st_ino ^ seen.st_ctime_ns) & signed != inode
        ):
            (files if mtime_ns or inode else unclear).add(path)
    return scan_folders(store, generation, now, _folders_of(store, generation, unclear), files)


def _folders_of(store: Store, generation: Generation, paths: Iterable[str]) -> set[str]:
    """Return the folders to read again for paths that are gone, not a regular file, or an unreadable folder."""
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
    """Return the differences in folders whose time changed, in `folders` and the new ones below them, and of `files`.

    If all this was `reported` and the rest was checked a moment ago, no other folder is looked at. A folder that was
    only `touched` is not read: what was made or removed there is among `files`. It is read when its time is next
    checked, as the system may not have reported everything.
    """
    root, top = store.places.root, store.places.folder
    found, rules = Scan({}, {}, {}, [], []), store.ignore_rules()
    looked: set[str] = set()
    moved = (
        set() if reported and freshness.is_watch_trusted(store) else set(_changed_folders(generation, root))
    )
    passed = {folder for folder in moved if folder in touched}
    there, gone, odd = _look_at(root, files)
    pending = [*(moved - passed), *folders, *odd] or ([] if generation.folders else [top])
    settled = _read_stamps(generation, len(pending))
    while pending:
        folder = pending.pop()
        if folder not in looked:
            looked.add(folder)
            inner = _read(store, folder, found, settled, rules)
            pending += [
                sub for sub in inner if sub not in generation.folders or not freshness.is_watched(store, sub)
            ]
    looked |= _drop_unreachable(generation, looked, found)
    _sweep_leftovers(store, found)
    if settled:
        paths = {path for path in settled if _folder(path) in looked} | gone
    else:
        paths = {path for folder in looked for path in generation.catalog.children(folder)} | gone
    found.files.update(
        {
            path: stamp
            for path, stamp in there.items()
            if _folder(path) not in looked and not (rules and rules.ignores(path))
        }
    )
    found.folders.update(dict.fromkeys(passed - looked, 0))
    known = generation.catalog.known(sorted((paths | set(found.files)).difference(found.same)))
    return _compare(generation, found, known, now, paths & set(known), looked)


def _drop_unreachable(generation: Generation, looked: Collection[str], found: Scan) -> set[str]:
    """Take what is below folders that are gone, unreadable or links out of what was found; return those folders."""
    lost = tuple([f"{folder}/" for folder in looked if folder not in found.folders])
    below = {folder for folder in generation.folders if folder.startswith(lost)} if lost else set()
    for folder in below:
        found.folders.pop(folder, None)
    if below:
        found.same[:] = [path for path in found.same if not path.startswith(lost)]
        for path in [path for path in found.files if path.startswith(lost)]:
            del found.files[path]
    return below


def _read_stamps(generation: Generation, folders: int) -> Settled:
    """Return the stamps of all files if so many folders are read that checking file by file would take longer."""
    if folders <= MANY_FOLDERS or folders * MOST_OF_THEM < len(generation.folders):
        return {}
    return {stamp[0]: stamp for stamp in generation.stamps(RACY_NS)}


def _look_at(root: str, files: Iterable[str]) -> tuple[dict[str, FileStamp], set[str], set[str]]:
    """Return the stamps of files, the files that are gone, and the folders of those that are something else."""
    there, gone, odd = dict[str, FileStamp](), set[str](), set[str]()
    for path in files:
        stamp = walk.stamp(f"{root}/{path}")
        if stamp is not None:
            there[path] = stamp
        elif os.path.lexists(f"{root}/{path}"):
            odd.add(_folder(path))
        else:
            gone.add(path)
    return there, gone, odd


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def scan_files(store: Store, generation: Generation, paths: Sequence[str]) -> Delta:
    """Return these files as changed, whatever their times say."""
    stamps = {path: walk.stamp(store.files.absolute(path)) for path in paths}
    there = {path: stamp for path, stamp in stamps.items() if stamp is not None}
    gone = [path for path in paths if path not in there]
    return Delta(there, gone, {}, [], {}, generation.catalog.known(paths))


def with_judged(generation: Generation, delta: Delta, paths: Collection[str]) -> Delta:
    """Return the differences together with files that did not change themselves, but what was said of them did."""
    seen = {*delta.files, *delta.gone, *delta.scan_problems}
    known = generation.catalog.known(sorted(set(paths) - seen)) if paths else {}
    if not known:
        return delta
    stamps = {path: FileStamp(*one.stamp) for path, one in known.items()}
    return delta._replace(files={**stamps, **delta.files}, known={**known, **delta.known})


def folders_changed(store: Store, generation: Generation) -> bool:
    """Test whether the time of any folder differs from when it was read."""
    root = store.places.root
    if not generation.folders:
        return os.path.isdir(f"{root}/{store.places.folder}")
    return next(_changed_folders(generation, root), None) is not None


def unread_files(store: Store, generation: Generation | None, prefix: str) -> list[str]:
    """Return the entry files whose names begin with a prefix, in all folders that changed since the index read them."""
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
                        inner = below(folder) + entry.name
                        folders += [inner] if inner not in known else []
        except OSError:
            continue
    return found


def _changed_folders(generation: Generation, root: str) -> Iterator[str]:
    """Yield the folders whose time differs, or that are gone."""
    lstat, prefix = os.lstat, root + "/"
    for folder, known in generation.folders.items():
        try:
            if lstat(prefix + folder).st_mtime_ns != known:
                yield folder
        except OSError:
            yield folder


def safe_times(folders: dict[str, int], now: int) -> dict[str, int]:
    """Return folder times, recent ones (two seconds) as 0: a second change may not move them, so they are read again."""
    return {folder: 0 if now - mtime < RACY_NS else mtime for folder, mtime in folders.items()}


def _read(
    store: Store,
    folder: str,
    into: Scan,
    settled: Settled = MappingProxyType({}),
    rules: IgnoreRules | None = None,
) -> list[str]:
    """Read a folder and return those in it. It is watched before, so that nothing happens unseen in between."""
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
    """Test whether a file must be read again: new, another stamp, or changed too recently for its time to show it."""
    return known is None or stamp != known.stamp or known.seen_ns - stamp.mtime_ns < RACY_NS
