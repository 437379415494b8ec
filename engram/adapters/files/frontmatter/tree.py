"""The small tree that both frontmatter parsers build: top-level keys, their values, the lines they cover."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    Value = str | list["Value"] | dict[str, "Value"]

# The opening `---` is line 1 of the file, so line 0 of the frontmatter is line 2 of the file.
FIRST_LINE = 2


class Entry(NamedTuple):
    """One top-level key. `start` and `end` are frontmatter lines from 0, `end` exclusive.

    `comment` is what follows a value that takes one line (blanks and `# …`), so that an edit can keep it.
    """

    key: str
    value: Value
    start: int
    end: int
    comment: str = ""

    @property
    def line(self) -> int:
        """The line of the key in the file, counted from 1."""
        return self.start + FIRST_LINE


class Problem(Exception):  # noqa: N818 - never leaves the codec, which turns it into a LoreFileError
    """Why a file cannot be read; `line` is a line of the file, counted from 1 (0: unknown)."""

    def __init__(self, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint


def comment_of(tail: str) -> str:
    """Return the comment in what follows a value on its line, with the blanks before it; empty if none."""
    return tail.rstrip(" \t") if tail.lstrip(" \t").startswith("#") else ""
