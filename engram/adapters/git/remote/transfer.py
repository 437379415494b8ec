"""Commands that talk to a remote, by GitPython: how far they are, what became of each branch, and what git complained of."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from engram.adapters.git.run import failures, library  # isort: skip - before `git`, to import that where there is no git

import git
from git import RemoteProgress
from git.cmd import handle_process_output
from git.exc import GitCommandError, UnsafeProtocolError
from git.util import finalize_process

from engram.adapters.git.run.library import SafeGit, open_repository
from engram.domain.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Report = Callable[[str], None]

# A connection over which less comes than this is as good as none.
PATIENCE = ("http.lowSpeedLimit=1000", "http.lowSpeedTime=20")
# Lines beside the progress that git prints because it is asked for that, and that say nothing of an error.
_CHATTER = re.compile(
    r"(?:remote: )?(?:[A-Z][a-z]+ objects: +\d|Total \d+ \(|Delta compression using |Cloning into ')"
)
_NAMES = {
    RemoteProgress.COUNTING: "counting objects",
    RemoteProgress.COMPRESSING: "compressing objects",
    RemoteProgress.WRITING: "writing objects",
    RemoteProgress.RECEIVING: "receiving objects",
    RemoteProgress.RESOLVING: "resolving deltas",
    RemoteProgress.FINDING_SOURCES: "finding sources",
}


class Progress(RemoteProgress):
    """How far a command is: `news` has what was not reported yet; `complaints` are the other lines that git printed."""

    def __init__(self) -> None:
        super().__init__()
        self.news: deque[str] = deque()
        self.results: list[str] = []  # of branches that were refused
        self._lines: list[str] = []

    @property
    def complaints(self) -> str:
        """What the server said, then git's own errors."""
        return "\n".join([*self._lines, *self.error_lines, *self.results])

    def update(
        self, op_code: int, cur_count: str | float, max_count: str | float | None = None, _message: str = ""
    ) -> None:
        """Note a percentage; counts without an end are not reported."""
        name = _NAMES.get(op_code & self.OP_MASK)
        if name and max_count:
            self.news.append(f"{name} {int(100 * float(cur_count) / float(max_count))} %")

    def line_dropped(self, line: str) -> None:
        """Note a line that is no progress."""
        if not _CHATTER.match(line):
            self._lines.append(line)


class _Listener:
    """Passes the progress on, or while there is none the last again: an exception of `report` ends a silent command, too."""

    def __init__(self, progress: Progress, report: Report) -> None:
        self._progress, self._report, self._last = progress, report, ""

    def __call__(self) -> None:
        if not self._progress.news:
            self._report(self._last)
        while self._progress.news:
            self._last = self._progress.news.popleft()
            self._report(self._last)


def talk(
    folder: str, remote: str, words: Sequence[str], deadline: float, report: Report | None = None
) -> str:
    """Run a git command that talks to `remote`, and return its output. Raises RemoteError, GitError.

    With `report` the words must ask git for its progress. GitPython's own `Remote.fetch` reads what came in from FETCH_HEAD,
    which belongs to the person whose repository it is, and its `Repo.clone_from` writes the clone's configuration anew.
    """
    lines: list[str] = []
    progress = Progress()

    def work() -> None:
        patience = [word for setting in PATIENCE for word in ("-c", setting)]
        started = SafeGit(folder).execute(["git", *patience, *words], as_process=True)
        heard = progress.new_message_handler()
        handle_process_output(started, lines.append, heard, finalize_process, decode_streams=False)

    _watched(work, folder, remote, words, progress, deadline, report)
    return "".join(lines)


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
    progress = Progress()

    def work() -> None:
        with open_repository(folder) as repo:
            repo.git.set_persistent_git_options(c=list(PATIENCE))
            pushed = git.Remote(repo, remote).push(
                refspec, progress, no_follow_tags=True, recurse_submodules="no", force_with_lease=lease
            )
        progress.results = [info.summary.strip() for info in pushed if info.flags & info.ERROR]
        pushed.raise_if_error()
        if progress.results:  # refused, and git printed no error
            raise GitCommandError(["git", "push"], 1)

    _watched(work, folder, remote, ("push", remote, refspec), progress, deadline, report)


def _watched(
    work: Callable[[], None],
    folder: str,
    remote: str,
    words: Sequence[str],
    progress: Progress,
    deadline: float,
    report: Report | None,
) -> None:
    listen = _Listener(progress, report) if report else None
    try:
        library.watch(work, words, deadline, listen)
        if listen:
            listen()
    except GitCommandError as error:
        code = error.status if isinstance(error.status, int) else 1
        raise failures.remote_failure(folder, remote, tuple(words), code, progress.complaints) from None
    except UnsafeProtocolError:
        raise failures.remote_failure(folder, remote, tuple(words), 1, f"'{remote}' not allowed") from None
    except GitError as error:
        if failures.kind(error.stderr) != failures.TIMEOUT:
            raise
        raise failures.remote_failure(folder, remote, tuple(words), 1, error.stderr) from None
