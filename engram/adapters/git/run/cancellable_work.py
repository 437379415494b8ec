"""Run work in a thread, and end its git processes at a deadline or when the caller is interrupted."""

from __future__ import annotations

import threading
import time

from engram.adapters.git.run import process
from engram.adapters.git.run.runner import add_ssh_variables
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    Result = TypeVar("Result")

POLL_SECONDS = 0.1
_local = threading.local()


def run_watched(
    work: Callable[[], Result],
    args: Sequence[str],
    deadline: float,
    poll: Callable[[], None] | None = None,
) -> Result:
    """Run `work` in a thread, end its processes after `deadline` seconds, and return its result.

    `poll` is called ten times a second meanwhile; an exception that it raises ends the processes as Ctrl-C does. `args` is
    the command, for the error. Raises GitError, and whatever `work` raises.
    """
    watch, results, errors = _Watch(), [], []

    def run() -> None:
        _local.watch = watch
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            errors.append(error)

    thread = threading.Thread(target=run, name="engram-git", daemon=True)
    end = time.monotonic() + deadline
    thread.start()
    try:
        while thread.is_alive() and time.monotonic() < end:
            thread.join(min(POLL_SECONDS if poll else deadline, max(end - time.monotonic(), 0)))
            if poll:
                poll()
        is_late = thread.is_alive()
    except BaseException:
        watch.stop()
        thread.join(process.GRACE)
        raise
    if is_late:
        watch.stop()
        thread.join(process.GRACE)
        raise process.timeout_error(tuple(args), deadline)
    watch.close()
    if errors:
        raise errors[0]
    return results[0]


def start(folder: str, args: Sequence[str]) -> subprocess.Popen[str]:
    """Start `git args` as part of the work that `run_watched` runs in this thread. Raises GitError."""
    return _watch_of_thread().start(folder, tuple(args))


def _watch_of_thread() -> _Watch:
    watch = getattr(_local, "watch", None)
    assert isinstance(watch, _Watch), "a process is started outside of `run_watched`"
    return watch


class _Watch:
    """The processes that the work has started; `stop` ends them and lets it start no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_stopped = False
        self._started: list[tuple[tuple[str, ...], subprocess.Popen[str], float]] = []

    def start(self, folder: str, args: tuple[str, ...]) -> subprocess.Popen[str]:
        """Start `git args`. Raises GitError, also after `stop`."""
        env = {**process.safe_environment(), **add_ssh_variables(folder, args, {})}
        with self._lock:
            if self._is_stopped:
                raise GitError("Stopped.", "")
            started = process.start(folder, args, False, env, text=True)
            self._started.append((args, started, time.monotonic()))
        return started

    def stop(self) -> None:
        """End all processes and their children."""
        with self._lock:
            self._is_stopped = True
        for _, started, _ in self._started:
            process.stop(started)

    def close(self) -> None:
        """Close the streams of the ended processes and notify the listeners of commands."""
        for args, started, began in self._started:
            process.close(started)
            for listener in process.listeners:
                listener(args, started.returncode or 0, time.monotonic() - began)
