"""What a killed process left in the private folder: drafts of files, copies for rehearsals, half an index."""

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

_OLD_NS = 24 * 3600 * 1_000_000_000  # whoever is at work for that long has been killed
_FILE = re.compile(r"\.engram-tmp$|\.new$|\.tmp$|^\.CURRENT\.|^tmp_")
_FOLDER = re.compile(r"^rehearsal-|^[0-9a-f]{40,64}\.[0-9A-Z]{26}$|^\.gone-")
_NOT_OURS = {"worktree", "lore"}  # where files of any name may be


def find(store: Store) -> list[str]:
    """Return the temporary files and folders below the private folder that are a day old."""
    limit = store.clock.nanoseconds() - _OLD_NS
    return [path for path in _temporaries(store.places.state) if _changed_ns(path) < limit]


def remove(store: Store) -> int:
    """Delete them; returns how many there were. What may not be deleted stays."""
    found = find(store)
    for path in found:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            atomic.remove(path)
    return len(found)


def _temporaries(state: str) -> Iterator[str]:
    current = _current_generation(state)
    for at, folders, files in os.walk(state):
        whole = [name for name in folders if _FOLDER.search(name)]
        if at == os.path.join(state, "index"):
            whole += [name for name in folders if name.startswith("generation-") and name not in current]
        folders[:] = [name for name in folders if name not in _NOT_OURS and name not in whole]
        yield from (os.path.join(at, name) for name in whole)
        yield from (os.path.join(at, name) for name in files if _FILE.search(name))


def _current_generation(state: str) -> set[str]:
    """Return the generation in use, and those older than it, which a rebuild removes: somebody may have one open."""
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
