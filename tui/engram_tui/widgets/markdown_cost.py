"""Whether markdown may be rendered: quick to draw, and readable when drawn. What may not is shown as it is written."""

from __future__ import annotations

import re

MOST_LETTERS = 4000
MOST_CELLS = 400
MOST_COLUMNS = 12
MOST_NESTING = 12


def is_light(text: str) -> bool:
    """Whether rendering this markdown is quick and its result readable: not too long, no large table, no deep nesting."""
    if len(text) > MOST_LETTERS or nesting(text) > MOST_NESTING:
        return False
    columns = [line.count("|") for line in text.splitlines() if "|" in line]
    return sum(columns) <= MOST_CELLS and max(columns, default=0) <= MOST_COLUMNS + 1


def nesting(text: str) -> int:
    """How deep quotes and indented lines go at most."""
    deepest = 0
    for line in text.splitlines():
        rest = line.lstrip(" \t>")
        lead = line[: len(line) - len(rest)]
        markers = len(re.match(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*", rest)[0].split())  # type: ignore[index]
        deepest = max(
            deepest, lead.count(">") + lead.count("\t") + lead.count(" ") // 4 + max(0, markers - 1)
        )
    return deepest
