"""Records of the first paths of renamed notes without an id, which keep their provisional ids stable.

One small file for each renamed note, named by a digest of its path: two clones that rename different notes add different
files, and two that rename a note alike add the same, so git merges them anywhere, without a driver or a conflict.
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
        """Read nothing yet."""
        self._root = root

    def first_seen(self, path: str) -> str:
        """Return the path where a note was first seen; "" if there is no record."""
        first, now = _read(self._record_file(path))
        return first if now == path else ""

    def all(self) -> dict[str, str]:
        """Return the first paths of all renamed notes, by their present paths."""
        found = {}
        for folder, _, names in os.walk(os.path.join(self._root, FOLDER)):
            for name in names:
                _, path = _read(os.path.join(folder, name))
                if first := self.first_seen(path):
                    found[path] = first
        return found

    def record(self, path: str, first: str, unique: str) -> None:
        """Record the first path of a note; `unique` names the temporary file. Raises StoreError."""
        file = self._record_file(path)
        if path == first and not os.path.lexists(file):
            return
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            atomic.write(file, f"{_HEAD}{first}\n{_NOW}{path}\n".encode(), unique)
        except OSError as error:
            raise atomic.write_error(file, error) from None

    def forget(self, path: str) -> None:
        """Delete the record of a path that no longer has a note."""
        with contextlib.suppress(OSError):
            os.unlink(self._record_file(path))

    def _record_file(self, path: str) -> str:
        name = blake2b(path.encode(errors="surrogatepass"), digest_size=10).hexdigest()
        return os.path.join(self._root, FOLDER, name[:2], name[2:])


def _read(file: str) -> tuple[str, str]:
    """Return the first and the present path in a record; ("", "") if it cannot be read."""
    try:
        with open(file, encoding="utf-8") as opened:
            first, now = (opened.readline().rstrip("\n") for _ in range(2))
    except (OSError, UnicodeDecodeError):
        return "", ""
    return (first.removeprefix(_HEAD), now.removeprefix(_NOW)) if first.startswith(_HEAD) else ("", "")
