"""Run commands that talk to a remote, report their progress and turn their errors into exceptions.

GitPython parses git's messages. It is imported for the first one only: git prints none unless its progress was requested
or something is wrong, and a fetch without news prints none at all.
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

# A slower connection counts as broken.
PATIENCE = ("http.lowSpeedLimit=1000", "http.lowSpeedTime=20")


class _Messages:
    """A command's messages; the parser is made for the first line."""

    def __init__(self) -> None:
        self.progress: Progress | None = None

    @property
    def reader(self) -> Progress:
        """The parser of the lines."""
        if self.progress is None:
            from engram.adapters.git.remote.progress import Progress

            self.progress = Progress()
        return self.progress

    @property
    def news(self) -> deque[str]:
        """Progress that was not reported yet."""
        return self.progress.news if self.progress else deque()

    @property
    def complaints(self) -> str:
        """The server's messages, then git's own errors."""
        return self.progress.complaints if self.progress else ""


class _Listener:
    """Reports new progress, or else the last one again, so that an exception of `report` ends a silent command, too."""

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

    `report` receives the progress if `words` request it from git. GitPython's own methods are not used: `Remote.fetch`
    reads FETCH_HEAD, which belongs to the user, `Repo.clone_from` rewrites the clone's configuration, and `Remote.push`
    has no result for a commit without a reference.
    """
    output: list[str] = []
    messages = _Messages()

    def work() -> int:
        patience = [word for setting in PATIENCE for word in ("-c", setting)]
        with cancellable_work.start(folder, [*patience, *words]) as started:
            stdout, stderr = started.stdout, started.stderr
            assert stdout is not None
            assert stderr is not None
            reader = threading.Thread(target=lambda: output.append(stdout.read()), name="engram-git-output")
            reader.start()  # git may block until either is read
            for line in stderr:
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
        # A rejected branch: `!`, the refspec and the reason, separated by tabs.
        refused = [line.split("\t")[-1] for line in "".join(output).splitlines() if line.startswith("!\t")]
        complaints = "\n".join([messages.complaints, *refused])
        raise failures.remote_failure(folder, remote, tuple(words), code, complaints)
    if listen:
        listen()
    return "".join(output)
