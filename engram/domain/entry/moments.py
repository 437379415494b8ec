"""The moments of an entry: at which commands, files, tools and errors of an agent it is to be shown (`when:`).

Each is one line, `kind: pattern`. A kind that this version does not know is kept as it is and matches nothing.
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
    """One moment: its kind, and the pattern that an event of this kind has to fit."""

    kind: str
    pattern: str

    def __str__(self) -> str:
        """Return the line that says it."""
        return f"{self.kind}: {self.pattern}"


def moment_of(text: str) -> Moment | None:
    """Return the moment that a line says; None where it has no kind or no pattern."""
    kind, colon, pattern = text.partition(":")
    kind, pattern = kind.strip().lower(), " ".join(pattern.split())
    return Moment(kind, pattern) if colon and pattern and re.fullmatch(_KIND, kind) else None


def parse_moments(lines: Iterable[str]) -> tuple[str, ...]:
    """Return moments that somebody states, in the form in which they are kept, each once.

    Raises ValidationError for one without a kind, or of a kind that no event has.
    """
    found = [(line, moment_of(line)) for line in lines if line.strip()]
    for line, moment in found:
        if moment is None or moment.kind not in KINDS:
            what = f"'{line[:60]}' in `when` is not a moment."
            raise ValidationError("when", what, f"Write a kind and a pattern, such as {EXAMPLES}.")
    return tuple(dict.fromkeys(str(moment) for _, moment in found))


def check_moments(lines: Iterable[str]) -> None:
    """Raise ValidationError where an entry has too many moments, or one that is too long or says none."""
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
