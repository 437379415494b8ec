"""The store behind a server: found and opened when it is first needed, used in worker threads, never in an agent's way.

The event loop only passes messages on. Whatever touches a disk runs in a thread; one that takes too long goes on by
itself while the agent gets a notice, and one that nobody waits for any more is stopped where that is safe.
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
_THREADS = 4  # of our own: those of the SDK must stay free to read and write messages
_THREADS_APART = 2  # of these for what leaves the store to other calls: it can take long
_PROGRESS_SECONDS = 0.25
_USER = "user"  # engram.usecases.opening.open_store.USER, whose import can wait


class Opening(NamedTuple):
    """Which store a server is about: `store` and `scope` as on the command line; `ask` lets the client's folders decide.

    `patience` is how many seconds a call may take before the agent gets a notice to carry on.
    """

    store: str | None = None
    scope: str = ""
    ask: bool = True
    patience: float = PATIENCE_SECONDS


class Caller(NamedTuple):
    """Who is calling, where to tell of progress, and by which way the call comes; `client` is the source that it names."""

    session: str
    agent: str
    report: Report
    via: str = "mcp"
    client: str = ""


class StoppedError(Exception):
    """Raised inside work that nobody waits for any more."""


class Job:
    """One call's work: its progress goes to the client while somebody waits for it."""

    def __init__(self, report: Report) -> None:
        """`report` sends (done, total, message) to the client."""
        self._report = report
        self._told = 0.0
        self.stopped = False
        self.waited_for = True

    def step(self, done: int, total: int) -> None:
        """So much is done. Raises StoppedError where the call was cancelled."""
        if self.stopped:
            raise StoppedError
        now = time.monotonic()
        if self.waited_for and now - self._told >= _PROGRESS_SECONDS:
            self._told = now
            with contextlib.suppress(Exception):  # a client that went away needs no progress
                from_thread.run(self._report, done, total, f"indexing {done:,} of {total:,}")


class Memory:
    """The store of one server. `folders` are where the client works, None as long as nobody asked it."""

    def __init__(self, opening: Opening) -> None:
        """Nothing is opened yet."""
        self.folders: list[str] | None = None
        self._opening = opening
        self._engram: Engram | None = None
        self._root: str | None = None
        self._lock = threading.RLock()
        self._threads: dict[bool, anyio.CapacityLimiter] = {}

    @property
    def wants_folders(self) -> bool:
        """Whether the client's folders could decide which store is meant, and are not known."""
        return self.folders is None and self._opening.ask and not self._given and self._opening.scope != _USER

    async def run(
        self, caller: Caller, work: Callable[[Engram], T], *, index: bool = True, apart: bool = False
    ) -> T:
        """What `work` returns for the open store, done in a thread as the caller's session and agent.

        `index` brings a missing index into being before, with progress. `apart` leaves the store to other calls meanwhile,
        and does nothing before: for work that may take long, and for which it does not matter who is calling.
        Raises EngramError, also where it takes longer than the agent's patience; the work then goes on.
        """
        job = Job(caller.report)
        if not self._threads:  # a limiter needs a running loop
            self._threads = {
                False: anyio.CapacityLimiter(_THREADS),
                True: anyio.CapacityLimiter(_THREADS_APART),
            }
        with anyio.move_on_after(self._opening.patience) as scope:
            try:
                return await to_thread.run_sync(
                    self._do,
                    job,
                    caller,
                    work,
                    index,
                    apart,
                    abandon_on_cancel=True,
                    limiter=self._threads[apart],
                )
            except anyio.get_cancelled_exc_class():
                job.stopped = not scope.cancel_called
                raise
            finally:
                job.waited_for = False
        raise EngramError(
            f"Engram is still busy after {self._opening.patience:g} seconds and continues in the background.",
            "Carry on without it and try again later; a write may have finished by then.",
        )

    @property
    def engram(self) -> Engram:
        """The store that is meant now, open. Raises NotFoundError, StoreError, ConfigError.

        It is looked for each time: one may have been made where there was none, or be gone. What opening
        a store imports is imported here, so that it costs `initialize` nothing.
        """
        from engram.entry_point import open_engram
        from engram.usecases.opening.open_store import locate
        from engram.usecases.opening.store_layout import nearest
        from engram.usecases.upkeep.background import sync_apart

        with self._lock:
            working = nearest(self.folders or _own_folders())
            root = locate(self._given, self._opening.scope, working).places.root
            if self._engram is None or root != self._root or not os.path.isdir(self._engram.path):
                self.close()
                environment = {**os.environ, "ENGRAM_STORE": self._given or ""}
                self._engram = open_engram(
                    scope=self._opening.scope, environment=environment, working=working
                )
                self._root = root
                sync_apart(self._engram.store)
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
        """At the end of the process: close within about `patience` seconds, whatever a thread may be stuck in."""
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

    def _do(self, job: Job, caller: Caller, work: Callable[[Engram], T], index: bool, apart: bool) -> T:
        engram = self.engram
        if apart:
            return work(engram)
        with engram.calling(caller.session, caller.agent, caller.via, caller.client):
            if index and engram.store.index.look() is None:
                with contextlib.suppress(EngramError):  # the answer says what it had to do without
                    engram.refresh(job.step)
                heap_limits.trim()
            return work(engram)


def _own_folders() -> list[str]:
    """Where this process was started; agents name their project in a variable, too."""
    project = os.environ.get("CLAUDE_PROJECT_DIR", "")
    return [project, os.getcwd()] if os.path.isdir(project) else [os.getcwd()]
