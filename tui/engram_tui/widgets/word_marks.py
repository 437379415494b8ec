"""Word differences of two texts, marked by style, not by colour: bold and underlined on the left, reversed on the right."""

from __future__ import annotations

from rich.text import Text

from engram.domain.text.word_diff import word_diff
from engram_tui.shell.sanitize import safe_lines

LEFT, RIGHT = "bold underline", "bold reverse"
MOST = 20_000  # characters that are compared; an entry has at most 4,000


def side_by_side(left: str, right: str, most: int | None = MOST) -> tuple[Text, Text]:
    """Return at most so many characters of both texts, what only one of them has marked."""
    left, right = safe_lines(left)[:most], safe_lines(right)[:most]
    one, other = Text(), Text()
    for mine, others in word_diff(left, right):
        _append(one, mine, LEFT if mine != others else "")
        _append(other, others, RIGHT if mine != others else "")
    return one, other


def text_before_marks(text: Text) -> Text | None:
    """Return the text up to the end of its first marked part; None where nothing is marked."""
    ends = [(span.start, span.end) for span in text.spans if span.style in (LEFT, RIGHT)]
    return text[: min(ends)[1]] if ends else None


def inline(left: str, right: str) -> Text:
    """Return both texts as one: what only the left has bold and underlined, what only the right has reversed."""
    found = Text()
    for mine, others in word_diff(safe_lines(left)[:MOST], safe_lines(right)[:MOST]):
        if mine == others:
            found.append(mine)
        else:
            _append(found, mine, LEFT)
            if mine.strip() and others.strip() and not mine[-1:].isspace():
                found.append(" ")  # or `8` and `24` would read as 824
            _append(found, others, RIGHT)
    return found


def are_similar(left: str, right: str) -> bool:
    """Return whether the texts share enough words for marks to help; others are read as they are."""
    shared = sum(len(mine) for mine, others in word_diff(left[:MOST], right[:MOST]) if mine == others)
    return shared * 3 >= min(len(left), len(right))


def _append(text: Text, part: str, style: str) -> None:
    """Append each line by itself, blanks at its ends unmarked."""
    if style and not part.strip("\n"):
        part = part.replace("\n", "¶\n")  # a line end that differs would not be visible otherwise
    for at, line in enumerate(part.split("\n")):
        if at:
            text.append("\n")
        core = line.strip()
        if not style or not core:
            text.append(line)
            continue
        start = line.index(core)
        text.append(line[:start])
        text.append(core, style)
        text.append(line[start + len(core) :])
