"""Leftovers of killed processes in the private folder: temporary files, copies for replays, incomplete indexes."""

from __future__ import annotations

import os
import re
import shutil
from stat import S_ISDIR

from engram.adapters.files.durable import atomic
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.store.store import Store

_OLD_NS = 24 * 3600 * 1_000_000_000  # no process works that long
_FILE = re.compile(r"\.engram-tmp$|\.new$|\.tmp$|^\.CURRENT\.|^tmp_")
_FOLDER = re.compile(r"^rehearsal-|^[0-9a-f]{40,64}\.[0-9A-Z]{26}$|^\.gone-")
_SKIPPED = {"worktree", "lore"}  # folders that may have files of any name


def find(store: Store) -> list[str]:
    """Return the temporary files and folders below the private folder that are more than a day old."""
    limit = store.clock.nanoseconds() - _OLD_NS
    return [path for path in _find_temporary(store.places.state) if _changed_ns(path) < limit]


def remove(store: Store) -> int:
    """Delete the leftovers, as far as permitted; return how many were found."""
    found = find(store)
    for path in found:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            atomic.remove(path)
    return len(found)


def _find_temporary(state: str) -> Iterator[str]:
    used = _used_generations(state)
    for parent, folders, files in os.walk(state):
        found = [name for name in folders if _FOLDER.search(name)]
        if parent == os.path.join(state, "index"):
            found += [name for name in folders if name.startswith("generation-") and name not in used]
        folders[:] = [name for name in folders if name not in _SKIPPED and name not in found]
        yield from (os.path.join(parent, name) for name in found)
        yield from (os.path.join(parent, name) for name in files if _FILE.search(name))


def _used_generations(state: str) -> set[str]:
    """Return the current generation and older ones: a process may have one open, and a rebuild removes them."""
    folder = os.path.join(state, "index")
    try:
        with open(os.path.join(folder, "CURRENT"), encoding="utf-8", errors="replace") as file:
            current = file.read().strip()
        return {current, *(name for name in os.listdir(folder) if name < current)}
    except OSError:
        return set()


def _changed_ns(path: str) -> int:
    """Return when a file, or anything directly in a folder, changed last."""
    try:
        found = os.lstat(path)
        inside = os.scandir(path) if S_ISDIR(found.st_mode) else ()
        return max([found.st_mtime_ns, *(entry.stat(follow_symlinks=False).st_mtime_ns for entry in inside)])
    except OSError:
        return 1 << 63
