"""The moments of an entry (`when:`): the commands, files, tools and errors of an agent at which it is shown.

Each is one line, `kind: pattern`. A kind unknown to this version is kept unchanged and matches nothing.
"""

from __future__ import annotations

import re

from engram.domain.errors import ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

COMMAND, FILE, TOOL, ERROR = KINDS = ("command", "file", "tool", "error")
MOST = 12
LONGEST = 200  # characters of `kind: pattern`
EXAMPLES = "'command: git push', 'file: migrations/**', 'tool: WebFetch', 'error: deadlock detected'"
_KIND = r"[a-z][a-z0-9_-]*"  # compiled by `re` at its first use


class Moment(NamedTuple):
    """A moment: its kind, and the pattern that an event of this kind must match."""

    kind: str
    pattern: str

    def __str__(self) -> str:
        """Return its line."""
        return f"{self.kind}: {self.pattern}"


def moment_of(text: str) -> Moment | None:
    """Parse a line; None if it has no kind or no pattern."""
    kind, colon, pattern = text.partition(":")
    kind, pattern = kind.strip().lower(), " ".join(pattern.split())
    return Moment(kind, pattern) if colon and pattern and re.fullmatch(_KIND, kind) else None


def parse_moments(lines: Iterable[str]) -> tuple[str, ...]:
    """Normalize moments as given by a caller, without duplicates.

    Raises ValidationError for one without a kind or with an unknown kind.
    """
    found = [(line, moment_of(line)) for line in lines if line.strip()]
    for line, moment in found:
        if moment is None or moment.kind not in KINDS:
            message = f"'{line[:60]}' in `when` is not a moment."
            raise ValidationError("when", message, f"Write a kind and a pattern, such as {EXAMPLES}.")
    return tuple(dict.fromkeys(str(moment) for _, moment in found))


def check_moments(lines: Iterable[str]) -> None:
    """Raise ValidationError if there are too many moments, or one is too long or malformed."""
    found = tuple(lines)
    if len(found) > MOST:
        message = f"{len(found):,} moments in `when` are too many; at most {MOST} fit."
        raise ValidationError("when", message, "Keep those at which the entry is needed most.")
    for line in found:
        if len(line) > LONGEST:
            message = f"A moment in `when` has {len(line):,} characters; at most {LONGEST} fit."
            raise ValidationError(
                "when", message, "Name the program and its subcommand, or a part of the path or error."
            )
        if moment_of(line) is None:
            message = f"'{line[:60]}' in `when` is not a kind and a pattern."
            raise ValidationError("when", message, f"Write it such as {EXAMPLES}.")
