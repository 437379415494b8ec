"""Two texts side by side, what differs marked by how it is written: bold and underlined on the left, reversed on the right."""

from __future__ import annotations

from rich.text import Text

from engram.domain.text.word_diff import word_diff
from engram_tui.shell.sanitize import lines

LEFT, RIGHT = "bold underline", "bold reverse"
MOST = 20_000  # characters that are compared; a lore has 4,000 at most


def side_by_side(left: str, right: str) -> tuple[Text, Text]:
    """Both texts, what only one of them says marked."""
    left, right = lines(left)[:MOST], lines(right)[:MOST]
    one, other = Text(), Text()
    for mine, others in word_diff(left, right):
        _append(one, mine, LEFT if mine != others else "")
        _append(other, others, RIGHT if mine != others else "")
    return one, other


def inline(left: str, right: str) -> Text:
    """Both texts as one: what only the left says bold and underlined, what only the right says reversed."""
    found = Text()
    for mine, others in word_diff(lines(left)[:MOST], lines(right)[:MOST]):
        if mine == others:
            found.append(mine)
        else:
            _append(found, mine, LEFT)
            _append(found, others, RIGHT)
    return found


def differ(left: str, right: str) -> bool:
    """Whether word marks say anything: texts that share nearly nothing are read as they are."""
    shared = sum(len(mine) for mine, others in word_diff(left[:MOST], right[:MOST]) if mine == others)
    return shared * 3 >= min(len(left), len(right))


def _append(text: Text, said: str, style: str) -> None:
    """Each line by itself, blanks at its ends unmarked: a mark is on words."""
    for at, line in enumerate(said.split("\n")):
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
