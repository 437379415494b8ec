"""The store behind a server: opened on first use, and used in worker threads, so that no agent waits too long.

The event loop only passes messages on. Whatever touches a disk runs in a thread. A call that takes too long continues in
the background while the agent gets a notice; one that was cancelled is stopped where that is safe.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import anyio
from anyio import from_thread, to_thread

from engram.adapters import heap_limits
from engram.domain.errors import EngramError

if TYPE_CHECKING:
    from engram.app import Engram

T = TypeVar("T")
Report = Callable[[float, float, str], Coroutine[object, object, None]]

PATIENCE_SECONDS = 30.0
# Threads by whether they run `apart`: not those of the SDK, which must stay free to read and write messages.
_THREADS = {False: 4, True: 2}
_PROGRESS_SECONDS = 0.25
_USER = "user"  # engram.usecases.opening.open_store.USER, imported later


class Opening(NamedTuple):
    """How to find the store of a server: `store` and `scope` as on the command line; `ask` lets the client's folders decide.

    `patience` is the number of seconds that a call may take before the agent gets a notice to carry on.
    """

    store: str | None = None
    scope: str = ""
    ask: bool = True
    patience: float = PATIENCE_SECONDS


class Caller(NamedTuple):
    """Who is calling, how to report progress, and by which front end; `client` is the source that the caller names."""

    session: str
    agent: str
    report: Report
    via: str = "mcp"
    client: str = ""


class StoppedError(Exception):
    """Raised inside the work of a cancelled call."""


class Job:
    """The work of one call. `report` sends its progress (done, total, message) to the client while the call waits."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._reported_at = 0.0
        self.is_stopped = False
        self.is_awaited = True

    def step(self, done: int, total: int) -> None:
        """Report progress. Raises StoppedError if the call was cancelled."""
        if self.is_stopped:
            raise StoppedError
        now = time.monotonic()
        if self.is_awaited and now - self._reported_at >= _PROGRESS_SECONDS:
            self._reported_at = now
            with contextlib.suppress(Exception):  # a client that is gone needs no progress
                from_thread.run(self._report, done, total, f"indexing {done:,} of {total:,}")


class Memory:
    """The store of a server, opened on first use. `folders` are those of the client, None until it was asked."""

    def __init__(self, opening: Opening) -> None:
        self.folders: list[str] | None = None
        self._opening = opening
        self._engram: Engram | None = None
        self._root: str | None = None
        self._lock = threading.RLock()
        self._threads: dict[bool, anyio.CapacityLimiter] = {}

    @property
    def wants_folders(self) -> bool:
        """Whether the client's folders decide which store to use, and are not known yet."""
        return self.folders is None and self._opening.ask and not self._given and self._opening.scope != _USER

    async def run(
        self, caller: Caller, work: Callable[[Engram], T], *, index: bool = True, apart: bool = False
    ) -> T:
        """Run `work` on the open store in a thread, as the caller's session and agent, and return its result.

        `index` first builds a missing index, with progress. `apart` neither locks the store nor sets the caller: for
        work that may take long and does not depend on who is calling.
        Raises EngramError, also if it takes longer than the patience; the work then continues.
        """
        job = Job(caller.report)
        if not self._threads:  # a limiter needs a running loop
            self._threads = {apart: anyio.CapacityLimiter(count) for apart, count in _THREADS.items()}
        with anyio.move_on_after(self._opening.patience) as scope:
            try:
                return await to_thread.run_sync(
                    lambda: self._run_job(job, caller, work, index=index, apart=apart),
                    abandon_on_cancel=True,
                    limiter=self._threads[apart],
                )
            except anyio.get_cancelled_exc_class():
                job.is_stopped = not scope.cancel_called
                raise
            finally:
                job.is_awaited = False
        raise EngramError(
            f"Engram is still busy after {self._opening.patience:g} seconds and continues in the background.",
            "Carry on without it and try again later; a write may have finished by then.",
        )

    @property
    def engram(self) -> Engram:
        """The store, open. Raises NotFoundError, StoreError, ConfigError.

        It is located anew each time, since it may have been created or deleted meanwhile. Imports that only opening
        needs are here, so that they do not delay `initialize`.
        """
        from engram.entry_point import open_engram
        from engram.usecases.opening.open_store import locate
        from engram.usecases.opening.store_layout import nearest
        from engram.usecases.upkeep.background import start_sync

        with self._lock:
            working = nearest(self.folders or _own_folders())
            root = locate(self._given, self._opening.scope, working).places.root
            if self._engram is None or root != self._root or not os.path.isdir(self._engram.path):
                self.close()
                environment = {**os.environ, "ENGRAM_STORE": self._given or ""}
                scope = self._opening.scope
                self._engram = open_engram(scope=scope, environment=environment, working=working)
                self._root = root
                start_sync(self._engram.store)
            return self._engram

    def close(self) -> None:
        """Close the store once no thread uses it."""
        with self._lock:
            engram, self._engram = self._engram, None
            if engram is not None:
                with engram.store.lock:
                    pass
                engram.close()

    def leave(self, patience: float = 1.0) -> None:
        """Close the store at the end of the process within about `patience` seconds, even if a thread is stuck."""
        engram = self._engram
        if engram is not None and engram.store.lock.acquire(timeout=patience):
            engram.store.lock.release()  # the committer needs it
            with contextlib.suppress(EngramError):
                engram.leave(patience)

    @property
    def _given(self) -> str | None:
        given = self._opening.store
        if given is None and self._opening.scope != _USER:
            given = os.environ.get("ENGRAM_STORE") or None
        return os.path.abspath(os.path.expanduser(given)) if given else None

    def _run_job(self, job: Job, caller: Caller, work: Callable[[Engram], T], index: bool, apart: bool) -> T:
        engram = self.engram
        if apart:
            return work(engram)
        with engram.calling(caller.session, caller.agent, caller.via, caller.client):
            if index and engram.store.index.look() is None:
                with contextlib.suppress(EngramError):  # the answer says that there was no index
                    engram.refresh(job.step)
                heap_limits.trim()
            return work(engram)


def _own_folders() -> list[str]:
    """Return the working folder of this process, and the project that the agent names in a variable."""
    project = os.environ.get("CLAUDE_PROJECT_DIR", "")
    return [project, os.getcwd()] if os.path.isdir(project) else [os.getcwd()]
