"""GitPython in the environment in which Engram runs git: safe variables, a process group of its own, a deadline.

To import this module costs some 80 CPU-ms, so it is imported inside the functions that need it, never by a hook, a query
or a record. What GitPython itself would do differently, and cannot be told not to: it hands its children every `GIT_*`
variable that it inherited; at a time limit it kills git and git's own children one by one, which leaves lock files and
whatever those had started.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from engram.adapters.git.run import failures, process
from engram.adapters.git.run.process import DEADLINE
from engram.adapters.git.run.runner import variables_of
from engram.domain.errors import GitError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Sequence

    Result = TypeVar("Result")


@contextlib.contextmanager
def _without_git() -> Iterator[None]:
    """Let GitPython be imported where there is no git: its absence is reported by the first command, as a GitError."""
    name = "GIT_PYTHON_REFRESH"
    before = os.environ.get(name)
    os.environ[name] = "quiet"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


with _without_git():
    import git
from git.exc import GitCommandError  # noqa: E402 - after `git`, whose import looks for the program

__all__ = ["GitCommandError", "SafeGit", "SafeRepo", "Watch", "failure", "git", "open_repository", "watch"]
POLL_SECONDS = 0.1
_local = threading.local()
# It logs what git says, addresses with passwords too; of Engram's commands that is in their errors, without passwords.
logging.getLogger("git").addHandler(logging.NullHandler())
logging.getLogger("git.remote").addFilter(lambda _: not hasattr(_local, "watch"))


class SafeGit(git.Git):
    """Git commands as `engram.adapters.git.run.runner` runs them; those with `as_process=True` need a `Watch`."""

    def execute(self, command: Any, *_: Any, as_process: bool = False, **options: Any) -> Any:
        """Run a command that GitPython put together, without the name of the program. Raises GitError, GitCommandError."""
        args = tuple(str(word) for word in command[1:])
        folder = str(self.working_dir or os.getcwd())
        if as_process:
            return self.AutoInterrupt(_watched().start(folder, args), list(command))
        done = process.run(folder, *args, deadline=DEADLINE, env=variables_of(folder, args, {}))
        text = done.stdout.decode("utf-8", "replace").removesuffix("\n")
        if done.code and options.get("with_exceptions", True):
            raise GitCommandError(list(command), done.code, failures.without_credentials(done.stderr))
        return (done.code, text, done.stderr) if options.get("with_extended_output") else text


class SafeRepo(git.Repo):
    """A repository whose commands are run by `SafeGit`."""

    GitCommandWrapperType = SafeGit


def open_repository(folder: str) -> SafeRepo:
    """Open the repository of a folder; to be closed by its `close`, or as a context. Raises GitError."""
    try:
        return SafeRepo(folder, expand_vars=False)
    except git.InvalidGitRepositoryError:
        raise failures.failure(folder, ("open",), 128, "fatal: not a git repository") from None
    except git.NoSuchPathError:
        raise GitError(f"The folder {folder} does not exist.", "Check the path.") from None


def failure(folder: str, error: GitCommandError) -> GitError:
    """Return the error of a command that GitPython ran in `folder`."""
    words, code = tuple(map(str, error.command))[1:], error.status if isinstance(error.status, int) else 1
    return failures.failure(folder, words, code, error.stderr)


class Watch:
    """The processes that a piece of work has started; `stop` ends them, and lets it start no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_stopped = False
        self._started: list[tuple[tuple[str, ...], subprocess.Popen[str], float]] = []

    def start(self, folder: str, args: tuple[str, ...]) -> subprocess.Popen[str]:
        """Start `git args`. Raises GitError, also after `stop`."""
        env = {**process.safe_environment(), **variables_of(folder, args, {})}
        with self._lock:
            if self._is_stopped:
                raise GitError("Stopped.", "")
            found = process.start(folder, args, False, env, text=True)
            self._started.append((args, found, time.monotonic()))
        return found

    def stop(self) -> None:
        """End all processes, with their children."""
        with self._lock:
            self._is_stopped = True
        for _, started, _ in self._started:
            process.stop(started)

    def close(self) -> None:
        """Close what the ended processes have left open, and pass them on to the listeners of commands."""
        for args, started, began in self._started:
            process.close(started)
            for listener in process.listeners:
                listener(args, started.returncode or 0, time.monotonic() - began)


def _watched() -> Watch:
    found = getattr(_local, "watch", None)
    assert isinstance(found, Watch), "a process of GitPython's is started outside of `watch`"
    return found


def watch(
    work: Callable[[], Result],
    args: Sequence[str],
    deadline: float,
    look: Callable[[], None] | None = None,
) -> Result:
    """Return what `work` returns, which runs in a thread and whose processes are ended after `deadline` seconds.

    `look` is called meanwhile, ten times a second; an exception that it raises, like Ctrl-C, ends them, too. `args` is the
    command, for the error. Raises GitError, and what `work` raises.
    """
    watched, results, errors = Watch(), [], []

    def run() -> None:
        _local.watch = watched
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="engram-git", daemon=True)
    end = time.monotonic() + deadline
    thread.start()
    try:
        while thread.is_alive() and time.monotonic() < end:
            thread.join(min(POLL_SECONDS if look else deadline, max(end - time.monotonic(), 0)))
            if look:
                look()
        is_late = thread.is_alive()
    except BaseException:
        watched.stop()
        thread.join(process.GRACE)
        raise
    if is_late:
        watched.stop()
        thread.join(process.GRACE)
        raise process.timed_out(tuple(args), deadline)
    watched.close()
    if errors:
        raise errors[0]
    return results[0]
