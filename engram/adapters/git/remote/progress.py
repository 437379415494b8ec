"""Parse git's progress and error messages with GitPython."""

from __future__ import annotations

import re
from collections import deque

from engram.adapters.git.run.gitpython import git

# Lines that git prints with the progress, and that are not errors.
_CHATTER = re.compile(
    r"(?:remote: )?(?:[A-Z][a-z]+ objects: +\d|Total \d+ \(|Delta compression using |Cloning into ')"
)
_NAMES = {
    git.RemoteProgress.COUNTING: "counting objects",
    git.RemoteProgress.COMPRESSING: "compressing objects",
    git.RemoteProgress.WRITING: "writing objects",
    git.RemoteProgress.RECEIVING: "receiving objects",
    git.RemoteProgress.RESOLVING: "resolving deltas",
    git.RemoteProgress.FINDING_SOURCES: "finding sources",
}


class Progress(git.RemoteProgress):
    """The progress of a command: `news` has what was not reported yet, `complaints` the other lines of git."""

    def __init__(self) -> None:
        super().__init__()
        self.news: deque[str] = deque()
        self._lines: list[str] = []
        self.hear = self.new_message_handler()

    @property
    def complaints(self) -> str:
        """The server's messages, then git's own errors."""
        return "\n".join([*self._lines, *self.error_lines])

    def update(
        self, op_code: int, cur_count: str | float, max_count: str | float | None = None, _message: str = ""
    ) -> None:
        """Record a percentage; counts without a maximum are not reported."""
        name = _NAMES.get(op_code & self.OP_MASK)
        if name and max_count:
            self.news.append(f"{name} {int(100 * float(cur_count) / float(max_count))} %")

    def line_dropped(self, line: str) -> None:
        """Record a line that is not progress."""
        if not _CHATTER.match(line):
            self._lines.append(line)
