"""What happened to what a lore hangs on in code, in words: the evidence of a stale lore, the worst first."""

from __future__ import annotations

from collections import Counter

from engram.domain.typed import NamedTuple

GONE, SYMBOL, VERSION, CHANGED = range(4)  # how much each says against a lore, the most first
_LONGEST = 100


class Finding(NamedTuple):
    """One thing that changed: how grave (`GONE`, …), a clause for people, the exact difference; `lines` that differ."""

    grade: int
    what: str
    difference: str
    lines: int = 0


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """How many lines are only in `after`, and how many only in `before`: those that moved count as neither."""
    old, new = _without_common_ends(before.splitlines(), after.splitlines())
    lost, gained = Counter(old), Counter(new)
    return (gained - lost).total(), (lost - gained).total()


def is_named(name: str, text: str) -> bool:
    """Whether a name of code stands in a text as a whole word."""
    at = text.find(name)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(letter.isalnum() or letter in "_$" for letter in around):
            return True
        at = text.find(name, at + 1)
    return False


def file_changed(path: str, count: int, lines: tuple[int, int] | None, last: str) -> Finding:
    """A file changed in `count` commits, of which `last` names the last; `lines` are those added and removed."""
    size = f", +{lines[0]} −{lines[1]} lines" if lines else ""
    commits = "1 commit" if count == 1 else f"{count:,} commits"
    return Finding(CHANGED, f"{path} changed", f"{path}: {commits}{size}; last {last}", sum(lines or ()))


def file_gone(path: str, went: str, last: str) -> Finding:
    """A file is gone, to `went` ("" unknown), by the commit that `last` names."""
    if went:
        return Finding(GONE, f"{path} moved to {went}", f"{path} → {went}, by {last}")
    return Finding(GONE, f"{path} is gone", f"{path} was deleted, by {last}")


def symbol_gone(name: str, path: str, before: str, last: str) -> Finding:
    """A name that the lore speaks of is no longer in the file; `before` is the file as it was."""
    line = next((line.strip() for line in before.splitlines() if is_named(name, line)), "")
    return Finding(SYMBOL, f"`{name}` is gone from {path}", f"{path} −{line[:_LONGEST]}; last {last}")


def version_moved(said: str, before: str, after: str, path: str) -> Finding:
    """What a lore says of a version was so and is not any more."""
    now = f"is {after} now" if after else "is not named any more"
    return Finding(VERSION, f"{said} {now}", f"{path}: {before} → {after or 'nothing'}; the lore says {said}")


def _without_common_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Two texts without the lines with which both begin or end: mostly little is left to be compared."""
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old[start : len(old) - end], new[start : len(new) - end]
