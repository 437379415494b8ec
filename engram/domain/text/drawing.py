"""Charts made of characters: columns, and labelled bars. They show values by length, never by colour alone."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LYING_EIGHTHS = " ▏▎▍▌▋▊▉█"


def columns(values: Sequence[float], height: int = 3, cells: int = 1) -> list[str]:
    """Draw values (not negative) as columns, the highest `height` lines tall, each `cells` wide with a gap if more than one.

    A value above zero is always visible.
    """
    most = max(values, default=0) or 1
    eighths = [0 if value <= 0 else max(1, round(value / most * height * 8)) for value in values]
    lines = []
    for line in range(height - 1, -1, -1):
        signs = (_EIGHTHS[max(0, min(8, count - 8 * line))] for count in eighths)
        lines.append("".join(sign if cells == 1 else sign * (cells - 1) + " " for sign in signs).rstrip())
    return lines


def named_columns(
    names: Sequence[str], values: Sequence[float], height: int = 3, cells: int = 5
) -> list[str]:
    """Draw columns with a name under each."""
    return [
        *columns(values, height, cells),
        "".join(f"{name[: cells - 1]:<{cells}}" for name in names).rstrip(),
    ]


def bars(rows: Sequence[tuple[str, int]], width: int) -> list[str]:
    """Draw a bar for each name with its number, in lines of at most `width` characters."""
    if not rows:
        return []
    numbers = [f"{value:,}" for _, value in rows]
    after = max(map(len, numbers)) + 1
    before = min(max(len(name) for name, _ in rows), max(8, (width - after) // 2)) + 1
    room, most = max(1, width - before - after), max(value for _, value in rows) or 1
    return [
        f"{cut(name, before - 1):<{before}}{_bar(value / most, room):<{room}}{number:>{after}}"
        for (name, value), number in zip(rows, numbers, strict=True)
    ]


def _bar(share: float, cells: int) -> str:
    eighths = max(1 if share > 0 else 0, round(share * cells * 8))
    rest = _LYING_EIGHTHS[eighths % 8] if eighths % 8 else ""
    return "█" * (eighths // 8) + rest


def gauge(share: float, cells: int) -> str:
    """Draw a value from 0 to 1 as so many cells: `▆▆▆▆▆▁▁▁`."""
    full = max(0, min(cells, round(share * cells)))
    return "▆" * full + "▁" * (cells - full)


def cut(text: str, most: int) -> str:
    """Return at most so many characters of a text, the last an ellipsis where some are missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
