"""Numbers with their nouns: `1 entry`, `2 entries`, `1,000 files`."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Format a number with the singular or plural of a noun; `many` defaults to `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def entries(number: int) -> str:
    """Format a number of entries."""
    return counted(number, "entry", "entries")
