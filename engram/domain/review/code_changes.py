"""Changes of the code that an entry mentions, in words: the evidence that it is stale."""

from __future__ import annotations

from collections import Counter

from engram.domain.text.counted_nouns import counted
from engram.domain.typed import NamedTuple

GONE, SYMBOL, VERSION, CHANGED = range(4)  # severities, most severe first
_LONGEST = 100
_SHORT = 50  # lines; any change of a file up to this length counts
_SUBSTANTIAL = 1 / 3  # of a longer file, at least this share of its lines must be gone


class Finding(NamedTuple):
    """A change: its severity (`GONE`, …), a clause for people, the exact difference, and the number of lines that differ."""

    grade: int
    what: str
    difference: str
    lines: int = 0


class Lines(NamedTuple):
    """The numbers of lines of a file that were added, removed and present before."""

    added: int
    removed: int
    before: int


def is_substantial(lines: Lines) -> bool:
    """Whether a file changed so much that entries about it may be out of date; long files always change somewhere."""
    if lines.before <= _SHORT:
        return lines.added + lines.removed > 0
    return lines.removed >= _SUBSTANTIAL * lines.before


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """Count the lines only in `after` and those only in `before`; moved lines count as neither."""
    lost, gained = Counter(before.splitlines()), Counter(after.splitlines())
    return (gained - lost).total(), (lost - gained).total()


def is_named(name: str, text: str) -> bool:
    """Whether an identifier occurs in a text as a whole word."""
    start = text.find(name)
    while start >= 0:
        around = text[start - 1 : start] + text[start + len(name) : start + len(name) + 1]
        if not any(letter.isalnum() or letter in "_$" for letter in around):
            return True
        start = text.find(name, start + 1)
    return False


def file_changed(path: str, count: int, lines: Lines | None, last: str) -> Finding:
    """Report a file changed in `count` commits, the last being `last`."""
    size = f", +{lines.added} −{lines.removed} lines" if lines else ""
    differ = lines.added + lines.removed if lines else 0
    return Finding(
        CHANGED, f"{path} changed", f"{path}: {counted(count, 'commit')}{size}; last {last}", differ
    )


def file_gone(path: str, target: str, last: str) -> Finding:
    """Report a file that the commit `last` moved to `target`, or deleted ("")."""
    if target:
        return Finding(GONE, f"{path} moved to {target}", f"{path} → {target}, by {last}")
    return Finding(GONE, f"{path} was deleted", f"{path} was deleted, by {last}")


def symbol_gone(name: str, path: str, before: str, last: str) -> Finding:
    """Report an identifier that is no longer in the file; `before` is the old text of the file."""
    line = next((line.strip() for line in before.splitlines() if is_named(name, line)), "")
    return Finding(SYMBOL, f"`{name}` is gone from {path}", f"{path} −{line[:_LONGEST]}; last {last}")


def version_changed(claim: str, before: str, after: str, path: str) -> Finding:
    """Report a version that no longer is as an entry claims."""
    now = f"is now {after}" if after else "is no longer a dependency"
    return Finding(VERSION, f"{claim} {now}", f"{path}: {before} → {after or 'none'}; the entry says {claim}")
