"""Whether markdown may be rendered: Textual makes widgets of it, and some short texts would take seconds."""

from __future__ import annotations

import re

MOST_LETTERS = 4000
MOST_WORK = 80  # at about 3 ms of the screen's own thread each
MOST_NESTING = 6

_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def is_light(text: str) -> bool:
    """Whether rendering this markdown is quick: not too long, no large table, no deep nesting."""
    return len(text) <= MOST_LETTERS and work(text) <= MOST_WORK and nesting(text) <= MOST_NESTING


def work(text: str) -> int:
    """About how many widgets the markdown becomes: a cell counts 1, a list item 4, another line at most 1."""
    return sum(_work_of(line) for line in text.splitlines())


def nesting(text: str) -> int:
    """How deep quotes and indented lists go at most."""
    deepest = 0
    for line in text.splitlines():
        rest = line.lstrip(" \t>")
        lead = line[: len(line) - len(rest)]
        markers = len(re.match(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*", rest)[0].split())  # type: ignore[index]
        deepest = max(
            deepest, lead.count(">") + lead.count("\t") + lead.count(" ") // 4 + max(0, markers - 1)
        )
    return deepest


def _work_of(line: str) -> int:
    if "|" in line:
        return line.count("|") + 1
    if _ITEM.match(line):
        return 4
    return 1 if line.strip() else 0
