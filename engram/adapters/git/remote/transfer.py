"""Commands that talk to a remote: how far they are, what became of each branch, and what git complained of.

GitPython reads what git prints. It is imported for the first line: git prints none where nobody asked for its progress and
nothing is wrong, and a fetch that brings nothing prints none at all.
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

    `report` hears of the progress, for which the words must ask git. GitPython's own `Remote.fetch` reads what came in from
    FETCH_HEAD, which belongs to the person whose repository it is, its `Repo.clone_from` writes the clone's configuration
    anew, and its `Remote.push` names no result of a commit that has no reference.
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

    listen = _Listener(messages, report) if report else None
    try:
        code = cancellable_work.run_watched(work, words, deadline, listen)
    except GitError as error:
        if failures.kind(error.stderr) != failures.TIMEOUT:
            raise
        raise failures.remote_failure(folder, remote, tuple(words), 1, error.stderr) from None
    if code:
        # A branch that was refused: `!`, what was to go where, and why, with tabs in between.
        refused = [line.split("\t")[-1] for line in "".join(output).splitlines() if line.startswith("!\t")]
        complaints = "\n".join([messages.complaints, *refused])
        raise failures.remote_failure(folder, remote, tuple(words), code, complaints)
    if listen:
        listen()
    return "".join(output)
