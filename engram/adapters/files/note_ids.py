"""The first paths of notes without an id that were renamed since, which keep their ids the same.

One small file for each renamed note, named by a digest of its path: two clones that rename different notes add different
files, and two that rename one alike add the same, so that git merges them without a driver or a conflict, wherever it runs.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b

from engram.adapters.files.durable import atomic

FOLDER = ".engram-notes"
_HEAD = "first seen as: "
_NOW = "now: "


class NoteIds:
    """The records of the store at `root`. Paths are relative to it, with `/`."""

    def __init__(self, root: str) -> None:
        """Nothing is read before it is asked for."""
        self._root = root

    def first_seen(self, path: str) -> str:
        """Return where the note at a path was first seen; "" where that is its path."""
        first, now = _read(self._file(path))
        return first if now == path else ""

    def all(self) -> dict[str, str]:
        """Return where all renamed notes were first seen, by their paths."""
        found = {}
        for folder, _, names in os.walk(os.path.join(self._root, FOLDER)):
            for name in names:
                _, path = _read(os.path.join(folder, name))
                if first := self.first_seen(path):
                    found[path] = first
        return found

    def record(self, path: str, first: str, unique: str) -> None:
        """Note that the note at a path was first seen at another; `unique` names the temporary file. Raises StoreError."""
        file = self._file(path)
        if path == first and not os.path.lexists(file):
            return
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            atomic.write(file, f"{_HEAD}{first}\n{_NOW}{path}\n".encode(), unique)
        except OSError as error:
            raise atomic.unwritable(file, error) from None

    def forget(self, path: str) -> None:
        """Drop the record of a path that has no note any more."""
        with contextlib.suppress(OSError):
            os.unlink(self._file(path))

    def _file(self, path: str) -> str:
        name = blake2b(path.encode(errors="surrogatepass"), digest_size=10).hexdigest()
        return os.path.join(self._root, FOLDER, name[:2], name[2:])


def _read(file: str) -> tuple[str, str]:
    """Return where a note was first seen, and where it is now; twice "" where there is no record."""
    try:
        with open(file, encoding="utf-8") as opened:
            first, now = (opened.readline().rstrip("\n") for _ in range(2))
    except (OSError, UnicodeDecodeError):
        return "", ""
    return (first.removeprefix(_HEAD), now.removeprefix(_NOW)) if first.startswith(_HEAD) else ("", "")
