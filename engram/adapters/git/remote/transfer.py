"""Commands that talk to a remote: how far they are, what became of each branch, and what git complained of.

GitPython reads what git prints, and pushes. It is imported when there is something to read: a fetch that brings nothing
prints nothing, and takes half as much without it.
"""

from __future__ import annotations

import threading
from collections import deque

from engram.adapters.git.run import cancellable_work, failures
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.adapters.git.remote.progress import Progress

    Report = Callable[[str], None]

# A connection over which less comes than this is as good as none.
PATIENCE = ("http.lowSpeedLimit=1000", "http.lowSpeedTime=20")


class _Messages:
    """What a command prints beside its output; its reader is made for the first line."""

    def __init__(self) -> None:
        self.progress: Progress | None = None

    @property
    def reader(self) -> Progress:
        """What reads the lines."""
        if self.progress is None:
            from engram.adapters.git.remote.progress import Progress

            self.progress = Progress()
        return self.progress

    @property
    def news(self) -> deque[str]:
        """What was not reported yet."""
        return self.progress.news if self.progress else deque()

    @property
    def complaints(self) -> str:
        """What the server said, then git's own errors."""
        return self.progress.complaints if self.progress else ""


class _Listener:
    """Passes the progress on, or while there is none the last again: an exception of `report` ends a silent command, too."""

    def __init__(self, messages: _Messages, report: Report) -> None:
        self._messages, self._report, self._last = messages, report, ""

    def __call__(self) -> None:
        if not self._messages.news:
            self._report(self._last)
        while self._messages.news:
            self._last = self._messages.news.popleft()
            self._report(self._last)


def talk(
    folder: str, remote: str, words: Sequence[str], deadline: float, report: Report | None = None
) -> str:
    """Run a git command that talks to `remote`, and return its output. Raises RemoteError, GitError.

    With `report` the words must ask git for its progress. GitPython's own `Remote.fetch` reads what came in from FETCH_HEAD,
    which belongs to the person whose repository it is, and its `Repo.clone_from` writes the clone's configuration anew.
    """
    output: list[str] = []
    messages = _Messages()

    def work() -> int:
        patience = [word for setting in PATIENCE for word in ("-c", setting)]
        with cancellable_work.start(folder, [*patience, *words]) as started:
            printed, heard = started.stdout, started.stderr
            assert printed is not None
            assert heard is not None
            reader = threading.Thread(target=lambda: output.append(printed.read()), name="engram-git-output")
            reader.start()  # git may wait until either is read
            for line in heard:
                messages.reader.hear(line)
            reader.join()
        return started.returncode

    _run_watched(work, folder, remote, words, messages, deadline, report)
    return "".join(output)


def push(
    folder: str,
    remote: str,
    refspec: str,
    deadline: float,
    report: Report | None = None,
    lease: str | None = None,
) -> None:
    """Push `REFERENCE:BRANCH`, or delete with `:BRANCH`; with a `lease` of `BRANCH:COMMIT` only while it is there.

    The reference must be one: of a commit's id GitPython understands no result. Raises RemoteError, GitError.
    """
    from engram.adapters.git.run.gitpython import GitCommandError, git, open_repository

    messages = _Messages()

    def work() -> int:
        progress = messages.reader
        try:
            with open_repository(folder) as repo:
                repo.git.set_persistent_git_options(c=list(PATIENCE))
                pushed = git.Remote(repo, remote).push(
                    refspec, progress, no_follow_tags=True, recurse_submodules="no", force_with_lease=lease
                )
            progress.results = [info.summary.strip() for info in pushed if info.flags & info.ERROR]
            pushed.raise_if_error()
        except GitCommandError as error:
            return error.status if isinstance(error.status, int) else 1
        except git.UnsafeProtocolError:
            progress.results = [f"'{remote}' not allowed"]
        return 1 if progress.results else 0  # a branch may be refused without an error of git's

    _run_watched(work, folder, remote, ("push", remote, refspec), messages, deadline, report)


def _run_watched(
    work: Callable[[], int],
    folder: str,
    remote: str,
    words: Sequence[str],
    messages: _Messages,
    deadline: float,
    report: Report | None,
) -> None:
    """Do work that returns git's exit code. Raises RemoteError, GitError."""
    listen = _Listener(messages, report) if report else None
    try:
        code = cancellable_work.run_watched(work, words, deadline, listen)
    except GitError as error:
        if failures.kind(error.stderr) != failures.TIMEOUT:
            raise
        raise failures.remote_failure(folder, remote, tuple(words), 1, error.stderr) from None
    if code:
        raise failures.remote_failure(folder, remote, tuple(words), code, messages.complaints)
    if listen:
        listen()
