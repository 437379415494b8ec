"""Numbers with their nouns: `1 entry`, `2 entries`, `1,000 files`, `2 weeks ago`."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Format a number with the singular or plural of a noun; `many` defaults to `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def entries(number: int) -> str:
    """Format a number of entries."""
    return counted(number, "entry", "entries")


_SHORT_UNITS = (
    (31_557_600, "y"),
    (2_629_800, "mo"),
    (604_800, "w"),
    (86_400, "d"),
    (3600, "h"),
    (60, "min"),
)  # in seconds
_UNITS = ((365, "year"), (30, "month"), (7, "week"), (1, "day"))  # in days


def ago(seconds: float) -> str:
    """Format a time since an event: `2 weeks ago`, `today`."""
    days = int(seconds // 86_400)
    for length, name in _UNITS:
        if days >= length:
            return f"{counted(days // length, name)} ago"
    return "today"


def elapsed(seconds: float) -> str:
    """Format a time since an event in its largest unit: `now`, `5 min`, `3 w`, `2 y`."""
    return next((f"{int(seconds // size)} {unit}" for size, unit in _SHORT_UNITS if seconds >= size), "now")


def age(seconds: float) -> str:
    """Format an age in a few characters: `today`, `3 d`, `10 mo`, `2 y`."""
    days = int(seconds // 86_400)
    if days < 1:
        return "today"
    if days < 60:
        return f"{days} d"
    return f"{days // 30} mo" if days < 730 else f"{days // 365} y"
