"""Mark the words that differ in two texts, not by colour: bold and underlined on the left, reversed on the right."""

from __future__ import annotations

from rich.text import Text

from engram.domain.text.word_diff import word_diff
from engram_tui.shell.sanitize import safe_lines

LEFT, RIGHT = "bold underline", "bold reverse"
MAX_CHARACTERS = 20_000  # characters that are compared; an entry has at most 4,000


def mark_both(left: str, right: str, limit: int | None = MAX_CHARACTERS) -> tuple[Text, Text]:
    """Return both texts up to `limit` characters; what only one of them has is marked."""
    left_text, right_text = Text(), Text()
    for left_part, right_part in word_diff(safe_lines(left)[:limit], safe_lines(right)[:limit]):
        _append(left_text, left_part, LEFT if left_part != right_part else "")
        _append(right_text, right_part, RIGHT if left_part != right_part else "")
    return left_text, right_text


def text_before_marks(text: Text) -> Text | None:
    """Return the text up to the end of its first marked part; None if nothing is marked."""
    ends = [(span.start, span.end) for span in text.spans if span.style in (LEFT, RIGHT)]
    return text[: min(ends)[1]] if ends else None


def merge_marked(left: str, right: str) -> Text:
    """Return both texts as one; what only the left has is bold and underlined, what only the right has is reversed."""
    found = Text()
    left, right = safe_lines(left)[:MAX_CHARACTERS], safe_lines(right)[:MAX_CHARACTERS]
    for left_part, right_part in word_diff(left, right):
        if left_part == right_part:
            found.append(left_part)
        else:
            _append(found, left_part, LEFT)
            if left_part.strip() and right_part.strip() and not left_part[-1:].isspace():
                found.append(" ")  # or `8` and `24` would read as 824
            _append(found, right_part, RIGHT)
    return found


def are_similar(left: str, right: str) -> bool:
    """Return whether the texts share enough words for marks to help."""
    parts = word_diff(left[:MAX_CHARACTERS], right[:MAX_CHARACTERS])
    shared = sum(len(left_part) for left_part, right_part in parts if left_part == right_part)
    return shared * 3 >= min(len(left), len(right))


def _append(text: Text, part: str, style: str) -> None:
    """Append a part line by line; blanks at the ends of a line are not marked."""
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
