"""Charts made of characters: columns and labelled bars, which show values by length, never only by colour."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_HORIZONTAL_EIGHTHS = " ▏▎▍▌▋▊▉█"


def columns(values: Sequence[float], height: int = 3, cells: int = 1) -> list[str]:
    """Draw values (not negative) as columns, the highest `height` lines tall, each `cells` wide with a gap if more than one.

    A value above zero is always visible.
    """
    highest = max(values, default=0) or 1
    eighths = [0 if value <= 0 else max(1, round(value / highest * height * 8)) for value in values]
    lines = []
    for line in range(height - 1, -1, -1):
        blocks = (_EIGHTHS[max(0, min(8, count - 8 * line))] for count in eighths)
        lines.append("".join(block if cells == 1 else block * (cells - 1) + " " for block in blocks).rstrip())
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
    """Draw a bar for each name, with its number, in lines of at most `width` characters."""
    if not rows:
        return []
    numbers = [f"{value:,}" for _, value in rows]
    number_width = max(map(len, numbers)) + 1
    name_width = min(max(len(name) for name, _ in rows), max(8, (width - number_width) // 2)) + 1
    bar_width, highest = max(1, width - name_width - number_width), max(value for _, value in rows) or 1
    return [
        f"{cut(name, name_width - 1):<{name_width}}{_bar(value / highest, bar_width):<{bar_width}}{number:>{number_width}}"
        for (name, value), number in zip(rows, numbers, strict=True)
    ]


def _bar(share: float, cells: int) -> str:
    eighths = max(1 if share > 0 else 0, round(share * cells * 8))
    rest = _HORIZONTAL_EIGHTHS[eighths % 8] if eighths % 8 else ""
    return "█" * (eighths // 8) + rest


def gauge(share: float, cells: int) -> str:
    """Draw a value from 0 to 1 in `cells` cells: `▆▆▆▆▆▁▁▁`."""
    full = max(0, min(cells, round(share * cells)))
    return "▆" * full + "▁" * (cells - full)


def cut(text: str, most: int) -> str:
    """Shorten a text to at most `most` characters, the last of which is an ellipsis if any are missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
