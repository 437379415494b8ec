"""A durable queue of small jobs for a background process: a file of JSON lines, one append and one fsync for each job.

The worker first moves the lines to a second file, so that writers never wait for it.
"""

from __future__ import annotations

import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import EngramError, NotFoundError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class JobQueue:
    """The jobs in one folder, oldest first."""

    def __init__(self, folder: str) -> None:
        """Open nothing; the first `put` makes `folder`."""
        self.folder = folder
        self._waiting = os.path.join(folder, "waiting.jsonl")
        self._taken = os.path.join(folder, "taken.jsonl")
        self._done: set[str] = set()

    def put(self, name: str, job: Mapping[str, object]) -> None:
        """Append a job durably, under a unique name. Raises StoreError."""
        line = json.dumps({**job, "name": name}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            os.makedirs(self.folder, exist_ok=True)
            with self._write_lock():
                is_new = not os.path.exists(self._waiting)
                atomic.append(self._waiting, line)
                if is_new:
                    atomic.sync_folder(self.folder)
        except OSError as error:
            raise atomic.write_error(self._waiting, error) from None

    def count(self, back: int = 1) -> tuple[int, str]:
        """Count the waiting lines without parsing them; also return the name of the `back`-th job from the end.

        The name is "" if there is no such job. Raises StoreError.
        """
        starts = [
            (raw, start)
            for raw in map(_read_lines, (self._taken, self._waiting))
            for start in _line_starts(raw)
        ]
        if not 0 < back <= len(starts):
            return len(starts), ""
        raw, start = starts[-back]
        return len(starts), _name_of(raw[start : raw.index(b"\n", start)])

    def is_empty(self) -> bool:
        """Return whether no job is waiting."""
        return not (any(os.path.exists(path) for path in (self._waiting, self._taken)) or self._old_files())

    def process(
        self, do: Callable[[dict[str, object]], int], may_go_on: Callable[[], bool] | None = None
    ) -> int:
        """Do the jobs and return the sum of the results of `do`; 0 while another process works on them.

        A job is removed once it is done, so one that was interrupted is done again. Raises StoreError, and whatever `do` raises.
        """
        if self.is_empty():
            return 0
        total = 0
        with FileLock(os.path.join(self.folder, "lock")).tried() as acquired:
            if not acquired:
                return 0
            try:
                for name, job in self._take_jobs():
                    if may_go_on is not None and not may_go_on():
                        break
                    total += do(job)
                    self._done.add(name)
            finally:
                self._remove_done()
        return total

    def _take_jobs(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Move all waiting lines to the file of taken ones, then yield each job with its name."""
        with self._write_lock():
            old = self._old_files()
            lines = b"".join([_read_lines(self._taken), *map(_convert_file, old), _read_lines(self._waiting)])
            if lines:
                atomic.write(self._taken, lines, "jobs")
            for path in (*old, self._waiting):
                atomic.remove(path)
        for line in lines.splitlines():
            job = _parse(line)
            if job is not None and (name := str(job.pop("name"))) not in self._done:
                yield name, job

    def _remove_done(self) -> None:
        lines = _read_lines(self._taken).splitlines(True)
        remaining = [line for line in lines if _name_of(line) not in self._done]
        if any(map(_name_of, remaining)):
            atomic.write(self._taken, b"".join(remaining), "jobs")
        else:
            atomic.remove(self._taken)

    def _write_lock(self) -> FileLock:
        """Return the lock for adding or moving lines."""
        return FileLock(os.path.join(self.folder, "write.lock"))

    def _old_files(self) -> list[str]:
        """Return the files of earlier versions, which kept each job in a file named by time."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [
            os.path.join(self.folder, name) for name in names if name.endswith(".json") and name[0] != "."
        ]


def _convert_file(path: str) -> bytes:
    """Turn the file of one job into a line; b"" if it cannot be read."""
    try:
        job = json.loads(atomic.read(path))
    except (EngramError, ValueError):
        return b""
    if not isinstance(job, dict):
        return b""
    return json.dumps({**job, "name": os.path.basename(path).removesuffix(".json")}).encode() + b"\n"


def _read_lines(path: str) -> bytes:
    """Read the lines of a file, all with line ends; b"" if there is no file."""
    try:
        found = atomic.read(path)
    except NotFoundError:
        return b""
    return found if found.endswith(b"\n") or not found else found + b"\n"


def _line_starts(raw: bytes) -> Iterator[int]:
    """Yield the offset of each line, without copying any: there may be megabytes."""
    start = 0
    while end := raw.find(b"\n", start) + 1:
        yield start
        start = end


def _parse(line: bytes) -> dict[str, object] | None:
    """Parse a job; None for a line that a killed process left unfinished."""
    try:
        job = json.loads(line)
    except ValueError:
        return None
    return job if isinstance(job, dict) and isinstance(job.get("name"), str) else None


def _name_of(line: bytes) -> str:
    job = _parse(line)
    return str(job["name"]) if job else ""
