"""A folder of small jobs that wait for a process with more time: each is one JSON file, durable before it is acknowledged."""

from __future__ import annotations

import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_WAITING = 64
_SUFFIX = ".json"


class Spool:
    """The jobs in one folder, the oldest first by their names."""

    def __init__(self, folder: str) -> None:
        """`folder` is made when the first job comes."""
        self.folder = folder

    def put(self, name: str, job: Mapping[str, object]) -> bool:
        """Keep a job under a name that sorts by time; False where too many wait already. Raises StoreError."""
        if len(self._names()) >= MOST_WAITING:
            return False
        path = os.path.join(self.folder, name + _SUFFIX)
        atomic.write(path, json.dumps(job).encode(), "job")
        return True

    def is_empty(self) -> bool:
        """Whether no job waits."""
        return not self._names()

    def lock(self) -> FileLock:
        """The lock of the process that works on the jobs."""
        return FileLock(os.path.join(self.folder, "lock"))

    def jobs(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Each job with its name; one that cannot be read is taken away."""
        for name in self._names():
            path = os.path.join(self.folder, name)
            try:
                job = json.loads(atomic.read(path))
            except (EngramError, ValueError):
                job = None
            if isinstance(job, dict):
                yield name, job
            else:
                atomic.discard(path)

    def done(self, name: str) -> None:
        """Take a job away. Raises StoreError."""
        atomic.remove(os.path.join(self.folder, name))

    def _names(self) -> list[str]:
        try:
            return sorted(
                name for name in os.listdir(self.folder) if name.endswith(_SUFFIX) and name[0] != "."
            )
        except OSError:
            return []
