"""Changes of the code that an entry mentions, in words: the evidence that it is stale."""

from __future__ import annotations

from collections import Counter

from engram.domain.text.counted_nouns import counted
from engram.domain.typed import NamedTuple

GONE, SYMBOL, VERSION, CHANGED = range(4)  # severities, most severe first
_LONGEST = 100
_SHORT = 50  # lines of a file of which any change counts
_MUCH = 1 / 3  # of the lines of a longer one has to be gone


class Finding(NamedTuple):
    """One change: its severity (`GONE`, …), a clause for people, the exact difference; `lines` counts those that differ."""

    grade: int
    what: str
    difference: str
    lines: int = 0


class Lines(NamedTuple):
    """The lines of a file that were added and removed since, and how many it had."""

    added: int
    removed: int
    had: int


def is_much(lines: Lines) -> bool:
    """Whether so much of a file changed that what was said of it may be out of date: a long one always changes somewhere."""
    if lines.had <= _SHORT:
        return lines.added + lines.removed > 0
    return lines.removed >= _MUCH * lines.had


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """Count the lines only in `after` and those only in `before`; moved lines count as neither."""
    lost, gained = Counter(before.splitlines()), Counter(after.splitlines())
    return (gained - lost).total(), (lost - gained).total()


def is_named(name: str, text: str) -> bool:
    """Whether an identifier occurs in a text as a whole word."""
    at = text.find(name)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(letter.isalnum() or letter in "_$" for letter in around):
            return True
        at = text.find(name, at + 1)
    return False


def file_changed(path: str, count: int, lines: Lines | None, last: str) -> Finding:
    """Report a file changed in `count` commits, the last being `last`."""
    size = f", +{lines.added} −{lines.removed} lines" if lines else ""
    differ = lines.added + lines.removed if lines else 0
    return Finding(
        CHANGED, f"{path} changed", f"{path}: {counted(count, 'commit')}{size}; last {last}", differ
    )


def file_gone(path: str, went: str, last: str) -> Finding:
    """Report a file deleted or moved to `went` ("" unknown) by the commit `last`."""
    if went:
        return Finding(GONE, f"{path} moved to {went}", f"{path} → {went}, by {last}")
    return Finding(GONE, f"{path} was deleted", f"{path} was deleted, by {last}")


def symbol_gone(name: str, path: str, before: str, last: str) -> Finding:
    """Report an identifier that is no longer in the file; `before` is the old text of the file."""
    line = next((line.strip() for line in before.splitlines() if is_named(name, line)), "")
    return Finding(SYMBOL, f"`{name}` is gone from {path}", f"{path} −{line[:_LONGEST]}; last {last}")


def version_changed(claim: str, before: str, after: str, path: str) -> Finding:
    """Report a version that was as claimed and is not any more."""
    now = f"is now {after}" if after else "is no longer a dependency"
    return Finding(VERSION, f"{claim} {now}", f"{path}: {before} → {after or 'none'}; the entry says {claim}")
