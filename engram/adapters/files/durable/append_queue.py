"""Many small jobs that wait for a process with more time, as lines of one file: one append and one fsync for each.

Whoever works on them moves the lines into a second file first, so that writers never wait for the work.
"""

from __future__ import annotations

import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import NotFoundError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


class Jottings:
    """The jobs in one folder, the oldest first."""

    def __init__(self, folder: str) -> None:
        """`folder` is made when the first job comes."""
        self.folder = folder
        self._waiting = os.path.join(folder, "waiting.jsonl")
        self._taken = os.path.join(folder, "taken.jsonl")
        self._done: set[str] = set()

    def put(self, name: str, job: Mapping[str, object]) -> None:
        """Keep a job durably, under a name of its own. Raises StoreError."""
        line = json.dumps({**job, "name": name}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            os.makedirs(self.folder, exist_ok=True)
            with self._writing():
                is_new = not os.path.exists(self._waiting)
                handle = os.open(self._waiting, _APPEND, 0o600)
                try:
                    _append(handle, line)
                finally:
                    os.close(handle)
                if is_new:
                    atomic.sync_folder(self.folder)
        except OSError as error:
            raise atomic.unwritable(self._waiting, error) from None

    def names(self) -> list[str]:
        """The names of the jobs that wait. Raises StoreError."""
        return list(dict.fromkeys(str(job["name"]) for job in self._read()))

    def count(self, back: int) -> tuple[int, str]:
        """How many lines wait, without a look into them, and the name of the job that is `back` from the end ("": none).

        Raises StoreError.
        """
        starts = [
            (raw, start) for raw in map(_lines_of, (self._taken, self._waiting)) for start in _starts(raw)
        ]
        if not 0 < back <= len(starts):
            return len(starts), ""
        raw, start = starts[-back]
        return len(starts), _named(raw[start : raw.index(b"\n", start)])

    def is_empty(self) -> bool:
        """Whether no job waits."""
        return not any(os.path.exists(path) for path in (self._waiting, self._taken))

    def lock(self) -> FileLock:
        """The lock of the process that works on the jobs."""
        return FileLock(os.path.join(self.folder, "lock"))

    def jobs(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Each job with its name, for who holds the lock; call `settle` when the work is over. Raises StoreError."""
        with self._writing():
            lines = b"".join(map(_lines_of, (self._taken, self._waiting)))
            if lines:
                atomic.write(self._taken, lines, "jottings")
            atomic.remove(self._waiting)
        for job in self._read():
            if job["name"] not in self._done:
                yield str(job["name"]), job

    def done(self, name: str) -> None:
        """A job is done; `settle` takes it away."""
        self._done.add(name)

    def settle(self) -> None:
        """Take away what is done. Who is killed before that finds all of it again. Raises StoreError."""
        left = [line for line in _lines_of(self._taken).splitlines(True) if _named(line) not in self._done]
        if any(map(_named, left)):
            atomic.write(self._taken, b"".join(left), "jottings")
        else:
            atomic.remove(self._taken)

    def _writing(self) -> FileLock:
        """The lock of who adds lines or moves them."""
        return FileLock(os.path.join(self.folder, "write.lock"))

    def _read(self) -> list[dict[str, object]]:
        lines = b"".join(map(_lines_of, (self._taken, self._waiting))).splitlines()
        return [job for line in lines if (job := _parsed(line)) is not None]


def _append(handle: int, line: bytes) -> None:
    """Add a line and have it on the disk; a killed writer may have left the last one open."""
    size = os.fstat(handle).st_size
    if size:
        os.lseek(handle, size - 1, os.SEEK_SET)
        line = line if os.read(handle, 1) == b"\n" else b"\n" + line
    view = memoryview(line)
    while view:
        view = view[os.write(handle, view) :]
    os.fsync(handle)


def _lines_of(path: str) -> bytes:
    """What a file holds, ending in a line end; nothing where there is none."""
    try:
        found = atomic.read(path)
    except NotFoundError:
        return b""
    return found if found.endswith(b"\n") or not found else found + b"\n"


def _starts(raw: bytes) -> Iterator[int]:
    """Where each line starts; nothing is copied, for there may be megabytes."""
    start = 0
    while end := raw.find(b"\n", start) + 1:
        yield start
        start = end


def _parsed(line: bytes) -> dict[str, object] | None:
    """A job; None for a line that a killed process left unfinished."""
    try:
        job = json.loads(line)
    except ValueError:
        return None
    return job if isinstance(job, dict) and isinstance(job.get("name"), str) else None


def _named(line: bytes) -> str:
    job = _parsed(line)
    return str(job["name"]) if job else ""
